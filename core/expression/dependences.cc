#include "core/expression/dependences.h"

#include <algorithm>

#include "core/scalar/needed_instructions.h"

namespace mdh {

DimensionSet ActiveDimensions(const Expression& expression) {
  DimensionSet active = 0;
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.dimensions()[d].size > 1) active |= DimensionSet{1} << d;
  }
  return active;
}

DimensionSet ReducedDimensions(const Expression& expression) {
  DimensionSet reduced = 0;
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_reduction(d)) reduced |= DimensionSet{1} << d;
  }
  return reduced & ActiveDimensions(expression);
}

DimensionSet DimensionsOfParameter(const Expression& expression, int parameter) {
  DimensionSet uses = 0;
  if (expression.is_index(parameter)) {
    uses = DimensionSet{1} << expression.index_dimension(parameter);
  } else {
    const Expression::AccessRef ref = expression.input_access(parameter);
    const Buffer& buffer = expression.inputs()[ref.buffer];
    for (const AffineIndex& index : buffer.accesses[ref.access].indices) {
      for (int d = 0; d < expression.rank(); ++d) {
        if (index.coefficients[d] != 0) uses |= DimensionSet{1} << d;
      }
    }
  }
  return uses & ActiveDimensions(expression);
}

std::vector<DimensionSet> DimensionsOfInstructions(const Expression& expression) {
  std::vector<DimensionSet> uses;
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    DimensionSet of_this = instruction.op == ScalarOp::kParameter
                               ? DimensionsOfParameter(expression, instruction.parameter)
                               : 0;
    for (const int operand : instruction.operands) of_this |= uses[operand];
    uses.push_back(of_this);
  }
  return uses;
}

std::vector<int> Members(DimensionSet set) {
  std::vector<int> members;
  for (int d = 0; set != 0; ++d, set >>= 1) {
    if ((set & 1) != 0) members.push_back(d);
  }
  return members;
}

int64_t PointsAlong(const Expression& expression, const std::vector<int>& dimensions) {
  int64_t points = 1;
  for (const int d : dimensions) points *= expression.dimensions()[d].size;
  return points;
}

std::vector<bool> NeededResults(const Expression& e) {
  std::vector<bool> results(e.function().results().size(), true);
  if (e.store() != nullptr) {
    const ScalarFunction& s = e.store()->function;
    const std::vector<bool> taken =
        NeededParameters(s, std::vector<bool>(s.results().size(), true));
    std::copy_n(taken.begin(), results.size(), results.begin());
  }
  if (!e.has_reduction() && !e.has_prefix_sum()) return results;
  const std::vector<bool> operands = NeededParameters(e.reduction().function(), results);
  for (size_t r = 0; r < results.size(); ++r) {
    results[r] = operands[r] && operands[r + results.size()];
  }
  return results;
}

}  // namespace mdh
