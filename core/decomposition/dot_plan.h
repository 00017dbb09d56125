// Dot instructions of CPUs in register tiles (TuningParameters::dot): which contractions they
// compute, and how. Neighbours along a reduced dimension, as many as fit into 32 bits, are a word;
// an instruction multiplies words lane by lane, adds the products of each and then what was there:
//   C[m, n] += SUM over i < group of A[m, k + i] * B[k + i, n]
// Of one operand a word is broadcast to all lanes, that of the other has lanes along m or n.
#pragma once

#include <optional>

#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/matrix_instruction.h"
#include "core/expression/expression.h"

namespace mdh {

inline constexpr int kWordBytes = 4;

struct DotOperand {
  int parameter;  // of f
  int buffer;
  ScalarType type;
};

// Plain data.
struct DotPlan {
  int dimension;  // along which words have neighbours
  int group;      // elements of a word
  DotOperand a, b;

  bool is_bytes() const { return group == kWordBytes; }
};

// Which operand is which in a tile with lanes along a dimension.
struct DotSides {
  DotOperand broadcast, vector;
  // Instructions multiply unsigned by signed bytes. Of operands that are alike, the signs of the
  // broadcast one are flipped: what it is more or less by, 128 times the other's sum, is counted
  // beside the results.
  bool flips_broadcast;
  bool vector_is_signed;  // of bytes
};

// Words of neighbours along reduced dimension d. Errors: InvalidArgument, saying why the expression
// cannot be computed so: it is no contraction, operands are computed or of other types, ...
Result<DotPlan> PlanDot(const Expression& expression, int d);
// The same for the parameters; nullopt if they have no dot instructions. Expects valid ones.
std::optional<DotPlan> DotOf(const Expression& expression, const TuningParameters& parameters);

// The device's instruction with the most lanes for words of that plan; nullptr: it has none.
const MatrixInstruction* DotInstructionFor(const DotPlan& plan, const DeviceDescription& device);

// With lanes along dimension v; nullopt if not exactly one operand depends on it.
std::optional<DotSides> SidesOf(const Expression& expression, const DotPlan& plan, int v);

// Whether tiles with lanes along dimension v flip signs (DotSides::flips_broadcast).
bool FlipsSigns(const Expression& expression, const TuningParameters& parameters, int v);

// The dimension of the operand's buffer whose index is that of the plan's dimension; -1 if there is
// none, so that copies of it cannot have words.
int WordDimension(const Expression& expression, const DotPlan& plan, const DotOperand& operand);

}  // namespace mdh
