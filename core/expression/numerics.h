// What a kernel may change in floating-point results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

// The numeric values are part of the wire format and of keys: append only.
enum class NumericsPolicy : uint8_t {
  // Combine operators are re-associated, in every run anew where blocks add atomically; multiply-
  // adds may be fused; exp and the like may be a few units in the last place off. Nothing else
  // changes: no value is taken to be finite or not to be zero, x * 0 and x - x are computed,
  // products are multiplied in the order in which they are written but for those of FactorOrder,
  // nothing is factored out of sums but by SplitContraction, and subnormal numbers are kept, but
  // that NVIDIA's atomic additions of fp32 to device memory take them for zero. The sign of a sum
  // that is zero may differ. Operators whose laws do not hold once a value is nan are not
  // re-associated (PolicyFor). Results of types that exist in memory only are combined in those
  // that they are computed in (WithWideSums).
  kReassociate = 1,
  // As a loop nest in the order of the dimensions would compute it: every operation rounds by
  // itself, and values are combined one after the other in lexicographic order of the MDA indices:
  // first those of reduced dimensions, then prefix sums, the last dimension first.
  kExactOrder = 2,
  // The same bits on every run and device, but in a tree that leaves room for parallelism: parts of
  // FixedTreePart points are combined as with kExactOrder, then the parts from left to right.
  kFixedTree = 3,
  // As kReassociate, and products of fp32 in contractions are of rounded operands (Products), so
  // that matrix units compute them. A kernel may still compute them exactly.
  kTf32 = 4,
  kBf16x3 = 5,
  kBf16x6 = 6,
  // As kReassociate, and products of fp8 in contractions may be added up by matrix units that keep
  // 13 bits of their sums, as many products at a time as kKeptProducts.
  kFp8 = 7,
};

// What products of fp32 in contractions are made of.
enum class Products : uint8_t {
  kExact,   // the operands as they are
  kTf32,    // both rounded to 10 bits of fraction
  kBf16x3,  // sums of two parts of bf16 each, without the product of the small ones
  kBf16x6,  // sums of three parts each, without products below the last place of fp32
  kFp8,     // of operands of fp8, exact; their sums are not
};

// With Products::kFp8 sums of so many products are added up in fp32.
inline constexpr int64_t kKeptProducts = 128;

// Whether values may be combined in any order: kReassociate, and what allows more.
bool Reassociates(NumericsPolicy policy);
Products ProductsOf(NumericsPolicy policy);

// A policy and how closely results are checked when candidates are measured.
struct Numerics {
  NumericsPolicy policy = NumericsPolicy::kReassociate;
  // Largest relative error that passes; 0: what re-association and the types of the results explain
  // (nothing at all for kExactOrder).
  double tolerance = 0;

  friend bool operator==(const Numerics&, const Numerics&) = default;
};

// "reassociate", "exact", "tree", "tf32", "bf16x3", "bf16x6" or "fp8".
absl::string_view Name(NumericsPolicy policy);
// Errors: InvalidArgument, naming the words there are.
Result<NumericsPolicy> ParseNumericsPolicy(std::string_view name);

// Why the expression has no products that the policy is about; empty: it has, or the policy is
// about none. Those are of contractions (core/expression/contraction_form.h) of fp32 in fp32, or of
// fp8 in fp32.
std::string ProductsObstacle(const Expression& expression, NumericsPolicy policy);

// What kernels of the expression keep to where `policy` is asked for: kReassociate instead of kTf32
// and the like where ProductsObstacle says something; kExactOrder instead of kReassociate where its
// operator keeps the order (CombineOperator::keeps_order).
NumericsPolicy PolicyFor(const Expression& expression, NumericsPolicy policy);

// ---- Products of parts ----

// x is the sum of so many parts of bf16, each of which is what the ones before leave, rounded to
// nearest; 1: x itself. An infinite x, or one that rounds to infinity, has parts that are nan.
int PartsOf(Products products);
// The products of parts that are added up, smallest first; parts are numbered from the largest one.
// Of operands that have no parts, one of the operands themselves.
struct ProductOfParts {
  int a, b;
};
absl::Span<const ProductOfParts> ProductsOfParts(Products products);

// The largest error of a product a * b, relative to |a * b|, but for where parts are subnormal.
//   tf32: operands are off by 2^-11 each, and (1 + 2^-11)^2 - 1 < 2^-10 + 2^-22 <= 1.001 * 2^-10.
//   bf16x3: of x in [1, 2) the first part, of 8 bits, leaves 2^-8 at most, half of its last place,
//   the second one 2^-17 of that, the third one 2^-26. Left out are 2^-8 * 2^-8 and what is left of
//   both operands, 2 * 2^-17, with factors of 1 + 2^-8 at most: below 2.02 * 2^-16.
//   bf16x6: left out are products of parts 1 and 2, twice 2^-8 * 2^-17, of parts 2, 2^-34, and
//   what is left of both operands, 2 * 2^-26: below 3.02 * 2^-25.
double ProductError(Products products);

// The largest error of a sum of products that are added up as kFp8 says, relative to the sum of
// their magnitudes. Instructions align up to 33 numbers, 32 products and a sum, and cut them off 13
// bits behind the leading one of the largest; four of them make a sum of kKeptProducts.
double SumError(Products products);

// Points of one part along dimension d in the tree of kFixedTree: the longest reduced dimension
// (the first of several) and every prefix sum are cut into at most 16 parts of a multiple of 64
// points; all other dimensions are one part.
int64_t FixedTreePart(const Expression& expression, int d);

// Points of one part along dimension d that the policy fixes: FixedTreePart, else the whole
// dimension.
int64_t OrderedPart(const Expression& expression, NumericsPolicy policy, int d);

}  // namespace mdh
