// Which matrix instructions compute a contraction.
#pragma once

#include <vector>

#include "core/device/matrix_instruction.h"
#include "core/expression/contraction_form.h"
#include "core/expression/expression.h"

namespace mdh {

struct UnitOfContraction {
  const MatrixInstruction* instruction;  // a row of the table; of several n, the one with the least
  UnitArithmetic arithmetic;             // not kNone
  bool swaps_sides;  // it takes A and B of the form only the other way round: C^T = B^T A^T
};

// All rows that do, of any device, in the order of the table; planned ones, too.
std::vector<UnitOfContraction> UnitsOf(const Expression& expression, const ContractionForm& form);

// Operations per second that the device's matrix units can do at most, in computing the expression
// without rounding operands: rate of the fastest unit, times two, cores, and cycles. 0: there is
// none, or the expression is no contraction.
double UnitPeak(const Expression& expression, const DeviceDescription& device, double clock_hz);

// Whether a unit of some device that adds this contraction up cuts sums off instead of rounding
// them.
bool MayTruncate(const Expression& expression);

}  // namespace mdh
