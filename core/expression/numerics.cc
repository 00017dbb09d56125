#include "core/expression/numerics.h"

#include <cmath>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/expression/contraction_form.h"

namespace mdh {
namespace {

struct PolicyName {
  NumericsPolicy policy;
  absl::string_view name;
};
constexpr PolicyName kPolicyNames[] = {
    {NumericsPolicy::kReassociate, "reassociate"},
    {NumericsPolicy::kExactOrder, "exact"},
    {NumericsPolicy::kFixedTree, "tree"},
    {NumericsPolicy::kTf32, "tf32"},
    {NumericsPolicy::kBf16x3, "bf16x3"},
    {NumericsPolicy::kBf16x6, "bf16x6"},
    {NumericsPolicy::kFp8, "fp8"},
};

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

bool Reassociates(NumericsPolicy policy) {
  return policy != NumericsPolicy::kExactOrder && policy != NumericsPolicy::kFixedTree;
}

Products ProductsOf(NumericsPolicy policy) {
  switch (policy) {
    case NumericsPolicy::kTf32:
      return Products::kTf32;
    case NumericsPolicy::kBf16x3:
      return Products::kBf16x3;
    case NumericsPolicy::kBf16x6:
      return Products::kBf16x6;
    case NumericsPolicy::kFp8:
      return Products::kFp8;
    case NumericsPolicy::kExactOrder:
    case NumericsPolicy::kFixedTree:
    case NumericsPolicy::kReassociate:
      break;
  }
  return Products::kExact;
}

absl::string_view Name(NumericsPolicy policy) {
  for (const PolicyName& known : kPolicyNames) {
    if (known.policy == policy) return known.name;
  }
  return "";
}

Result<NumericsPolicy> ParseNumericsPolicy(std::string_view name) {
  for (const PolicyName& known : kPolicyNames) {
    if (known.name == absl::string_view(name.data(), name.size())) return known.policy;
  }
  return InvalidArgument(
      "there is no numerics policy '", absl::string_view(name.data(), name.size()),
      "'; the policies are reassociate, exact, tree, tf32, bf16x3, bf16x6 and fp8");
}

std::string ProductsObstacle(const Expression& expression, NumericsPolicy policy) {
  if (ProductsOf(policy) == Products::kExact || expression.is_empty()) return "";
  const absl::string_view name = Name(policy);
  const Result<ContractionForm> form = FindContractionForm(expression);
  if (!form.ok()) {
    return absl::StrCat("numerics=", name, " is about products in contractions, and this is none: ",
                        form.status().message());
  }
  const bool is_fp8 = policy == NumericsPolicy::kFp8;
  for (const auto& [what, type, is_operand] : {std::tuple("operand A is", form->a.type(), true),
                                               std::tuple("operand B is", form->b.type(), true),
                                               std::tuple("products are", form->product, false),
                                               std::tuple("sums are", form->combined, false)}) {
    if (is_operand && is_fp8 ? IsFp8(type) : type == ScalarType::kFloat32) continue;
    return absl::StrCat("numerics=", name, " is about products of ", is_fp8 ? "fp8 in " : "",
                        "fp32, and ", what, " of type ", Name(type));
  }
  return "";
}

NumericsPolicy PolicyFor(const Expression& expression, NumericsPolicy policy) {
  if (!ProductsObstacle(expression, policy).empty()) policy = NumericsPolicy::kReassociate;
  const bool combines = expression.has_reduction() || expression.has_prefix_sum();
  const bool keeps_order = combines && expression.reduction().keeps_order();
  return Reassociates(policy) && keeps_order ? NumericsPolicy::kExactOrder : policy;
}

int PartsOf(Products products) {
  return products == Products::kBf16x3 ? 2 : products == Products::kBf16x6 ? 3 : 1;
}

absl::Span<const ProductOfParts> ProductsOfParts(Products products) {
  static constexpr ProductOfParts kOne[] = {{0, 0}}, kThree[] = {{1, 0}, {0, 1}, {0, 0}},
                                  kSix[] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
  if (products == Products::kBf16x3) return kThree;
  if (products == Products::kBf16x6) return kSix;
  return kOne;
}

double ProductError(Products products) {
  switch (products) {
    case Products::kTf32:
      return std::ldexp(1.001, -10);
    case Products::kBf16x3:
      return std::ldexp(2.02, -16);
    case Products::kBf16x6:
      return std::ldexp(3.02, -25);
    case Products::kFp8:
    case Products::kExact:
      break;
  }
  return 0;
}

double SumError(Products products) {
  constexpr double kAligned = 33, kInstructions = 4;
  return products == Products::kFp8 ? std::ldexp(kAligned * kInstructions, -13) : 0;
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
