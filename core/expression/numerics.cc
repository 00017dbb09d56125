#include "core/expression/numerics.h"

#include "absl/strings/str_cat.h"
#include "core/base/round.h"

namespace mdh {
namespace {

int LongestReduction(const Expression& expression) {
  int longest = -1;
  for (int d = 0; d < expression.rank(); ++d) {
    if (!expression.is_reduction(d)) continue;
    if (longest < 0 || expression.dimensions()[d].size > expression.dimensions()[longest].size) {
      longest = d;
    }
  }
  return longest;
}

}  // namespace

absl::string_view Name(NumericsPolicy policy) {
  switch (policy) {
    case NumericsPolicy::kExactOrder:
      return "exact";
    case NumericsPolicy::kFixedTree:
      return "tree";
    case NumericsPolicy::kReassociate:
      return "reassociate";
  }
  return "";
}

Result<NumericsPolicy> ParseNumericsPolicy(std::string_view name) {
  for (const NumericsPolicy policy :
       {NumericsPolicy::kReassociate, NumericsPolicy::kExactOrder, NumericsPolicy::kFixedTree}) {
    if (Name(policy) == absl::string_view(name.data(), name.size())) return policy;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no numerics policy '", absl::string_view(name.data(), name.size()),
                   "'; the policies are reassociate, exact and tree"));
}

NumericsPolicy PolicyFor(const Expression& expression, NumericsPolicy policy) {
  const bool combines = expression.has_reduction() || expression.has_prefix_sum();
  const bool keeps_order = combines && expression.reduction().keeps_order();
  return policy == NumericsPolicy::kReassociate && keeps_order ? NumericsPolicy::kExactOrder
                                                               : policy;
}

int64_t FixedTreePart(const Expression& expression, int d) {
  constexpr int64_t kParts = 16, kMultiple = 64;
  const int64_t size = expression.dimensions()[d].size;
  if (!expression.is_prefix_sum(d) && d != LongestReduction(expression)) return size;
  if (size <= kMultiple) return size;
  return CeilDivide(size, kParts * kMultiple) * kMultiple;
}

int64_t OrderedPart(const Expression& expression, NumericsPolicy policy, int d) {
  return policy == NumericsPolicy::kFixedTree ? FixedTreePart(expression, d)
                                              : expression.dimensions()[d].size;
}

}  // namespace mdh
