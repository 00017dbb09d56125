#include "client/commands/format/expression_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/expression/combine_laws.h"

namespace mdh {
namespace {

bool Rounds(const ScalarFunction& function) {
  return std::ranges::any_of(function.instructions(), [](const ScalarInstruction& instruction) {
    return IsFloatingPoint(instruction.type) && instruction.op != ScalarOp::kMin &&
           instruction.op != ScalarOp::kMax && instruction.op != ScalarOp::kFmin &&
           instruction.op != ScalarOp::kFmax && Info(instruction.op).flops > 0;
  });
}

std::string NameOf(const ScalarInstruction& instruction) {
  switch (instruction.op) {
    case ScalarOp::kCast:
      return "conversion";
    case ScalarOp::kNeg:
      return "negation";
    default:
      return std::string(Info(instruction.op).name);
  }
}

// Smallest and largest value of an index over all points.
std::pair<double, double> RangeOfIndex(const Expression& expression, const AffineIndex& index) {
  auto smallest = static_cast<double>(index.constant), largest = smallest;
  for (int d = 0; d < expression.rank(); ++d) {
    const double last = static_cast<double>(index.coefficients[d]) *
                        static_cast<double>(expression.dimensions()[d].size - 1);
    (last < 0 ? smallest : largest) += last;
  }
  return {smallest, largest};
}

// How many indices of dimension `x` the accesses reach at most.
double ReachedIndices(const Expression& expression, const Buffer& buffer, size_t x) {
  const auto last = static_cast<double>(std::max<int64_t>(buffer.extents[x] - 1, 0));
  double smallest = last, largest = 0;
  for (const IndexFunction& access : buffer.accesses) {
    const auto [low, high] = RangeOfIndex(expression, access.indices[x]);
    smallest = std::min(smallest, low);
    largest = std::max(largest, high);
  }
  return std::clamp(largest, 0.0, last) - std::clamp(smallest, 0.0, last) + 1;
}

// Dimensions that the accesses use in this index.
std::vector<int> DimensionsIn(const Expression& expression, const Buffer& buffer, size_t x) {
  std::vector<int> dimensions;
  for (int d = 0; d < expression.rank(); ++d) {
    const bool used = std::ranges::any_of(buffer.accesses, [&](const IndexFunction& access) {
      return access.indices[x].coefficients[d] != 0 && expression.dimensions()[d].size > 1;
    });
    if (used) dimensions.push_back(d);
  }
  return dimensions;
}

}  // namespace

std::optional<OperatorLaws> LawsOf(const Expression& expression) {
  if (!expression.has_reduction() && !expression.has_prefix_sum()) return std::nullopt;
  const CombineOperator& combine = expression.reduction();
  OperatorLaws laws{true, Rounds(combine.function()), {}, combine.keeps_order()};
  if (combine.identity().has_value()) laws.identity = *combine.identity();
  if (combine.kinds()[0] != PointWiseKind::kCustom) return laws;
  // What need not be commutative, because it is one prefix sum, may be so all the same.
  laws.is_commutative =
      CheckCombineLaws(combine.function(), combine.identity(), Commutativity::kNeeded,
                       SampleResults(expression.function()))
          .ok();
  return laws;
}

Reuse ReuseOf(const Expression& expression, const Buffer& buffer) {
  Reuse reuse;
  std::vector<bool> is_used(expression.rank(), false);
  reuse.elements = 1;
  if (expression.is_empty()) return reuse;
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    const std::vector<int> dimensions = DimensionsIn(expression, buffer, x);
    for (const int d : dimensions) is_used[d] = true;
    if (dimensions.size() > 1) reuse.shared_indices.emplace_back(static_cast<int>(x), dimensions);
    reuse.elements *= ReachedIndices(expression, buffer, x);
  }
  for (int d = 0; d < expression.rank(); ++d) {
    const int64_t size = expression.dimensions()[d].size;
    if (is_used[d] || size == 1) continue;
    reuse.dimensions.push_back(d);
    reuse.factor *= size;
  }
  reuse.accesses =
      static_cast<double>(expression.points()) * static_cast<double>(buffer.accesses.size());
  return reuse;
}

OperationCounts CountOperations(const ScalarFunction& function) {
  OperationCounts counts;
  for (const ScalarInstruction& instruction : function.instructions()) {
    if (instruction.op == ScalarOp::kParameter || instruction.op == ScalarOp::kConstant) continue;
    const bool compares = instruction.op >= ScalarOp::kEq && instruction.op <= ScalarOp::kGe;
    const ScalarType type =
        compares ? function.instructions()[instruction.operands[0]].type : instruction.type;
    const std::string name = absl::StrCat(Name(type), " ", NameOf(instruction));
    const auto found =
        std::ranges::find_if(counts, [&](const auto& count) { return count.first == name; });
    if (found == counts.end()) {
      counts.emplace_back(name, 1);
    } else {
      ++found->second;
    }
  }
  return counts;
}

}  // namespace mdh
