// Which matrix instructions compute a contraction.
#pragma once

#include <string>
#include <vector>

#include "core/device/matrix_instruction.h"
#include "core/expression/contraction_form.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

struct UnitOfContraction {
  const MatrixInstruction* instruction;  // a row of the table; of several n, the one with the least
  UnitArithmetic arithmetic;             // not kNone
  bool swaps_sides;  // it takes A and B of the form only the other way round: C^T = B^T A^T
};

// All rows that do, of any device, in the order of the table; planned ones, too.
std::vector<UnitOfContraction> UnitsOf(const Expression& expression, const ContractionForm& form);

// Operations per second that the device's matrix units can do at most, in computing the expression
// without rounding operands but as the policy allows: rate of the fastest unit, times two, cores,
// and cycles; of products of parts, divided by how many make one. 0: there is none, or the
// expression is no contraction.
double UnitPeak(const Expression& expression, const DeviceDescription& device, double clock_hz,
                NumericsPolicy numerics = NumericsPolicy::kReassociate);

// Why a request for the policy's products makes no sense: ProductsObstacle, or the device has no
// unit for them, as its name says. Empty: it does, or the policy is about none.
std::string ProductsObstacle(const Expression& expression, const DeviceDescription& device,
                             NumericsPolicy numerics);

// Whether a unit of some device that adds this contraction up cuts sums off instead of rounding
// them.
bool MayTruncate(const Expression& expression);

}  // namespace mdh
