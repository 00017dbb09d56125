// Products of three factors and more at the points of a tile that is computed together: what does
// not depend on all dimensions of the tile is multiplied once for several of its points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/expression/dependences.h"
#include "core/expression/numerics.h"
#include "core/pipeline/pairwise_order.h"
#include "core/pipeline/product_form.h"
#include "core/scalar/value_builder.h"

namespace mdh {

// In which order f multiplies its factors. The matricized tensor times Khatri-Rao product
//   B[i,k,l] * D[l,j] * C[k,j]
// takes two multiplications at every point as it is written; as B[i,k,l] * (D[l,j] * C[k,j]), in a
// tile with n points along i, 1 + 1/n. What a compiler, which may not reorder products of
// floating-point numbers, then does is to compute equal values once.
class FactorOrder {
 public:
  static constexpr size_t kMostFactors = 6;

  // nullopt: f is no product (ProductForm) of three to kMostFactors factors, or the policy keeps
  // its roundings as they are.
  static std::optional<FactorOrder> Of(const Expression& expression, NumericsPolicy numerics);

  // Multiplications per point of a tile with so many points along each dimension.
  double PerPoint(absl::Span<const int64_t> tile) const;
  // As f is written, at every point all of them.
  double AsWritten() const { return static_cast<double>(factors_.size()) - 1; }

  // f with the fewest multiplications in such a tile; as it is written if that has as few.
  ScalarFunction Function(absl::Span<const int64_t> tile) const;

 private:
  FactorOrder(const Expression& expression, std::vector<ProductFactor> factors);

  double Points(DimensionSet set, absl::Span<const int64_t> tile) const;
  // Those of two factors or more.
  PairwiseOrder<double> Best(absl::Span<const int64_t> tile) const;
  double WrittenIn(absl::Span<const int64_t> tile) const;
  int Multiply(FactorSet set, const PairwiseOrder<double>& order, ValueBuilder& builder) const;

  ScalarFunction f_;
  std::vector<ProductFactor> factors_;
  DimensionSet all_ = 0;
  std::vector<DimensionSet> dimensions_;  // of every set of factors
  std::vector<DimensionSet> products_;    // of f's multiplications of several factors, as written
};

// By instruction of f: whether it multiplies several factors of a product that, under some policy,
// may be in another order. Nothing of others.
std::vector<bool> ReorderedProducts(const Expression& expression);

// f as it is computed at the points of a tile (FactorOrder): with its products in another order, if
// there are such and the policy allows it.
ScalarFunction FunctionInTile(const Expression& expression, NumericsPolicy numerics,
                              absl::Span<const int64_t> tile);

}  // namespace mdh
