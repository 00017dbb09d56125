// How often tiles find nothing but zeros around a buffer, and leave out what they would multiply
// (codegen/lower/tiles/outside_products.h).
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/choose/tiles/tile_choice.h"
#include "codegen/lower/tiles/outside_products.h"

namespace mdh {

// Refers to the expression.
class ReachedShare {
 public:
  ReachedShare(const Expression& expression, NumericsPolicy numerics)
      : e_(expression), products_(OutsideProductsOf(expression, numerics)) {}

  // Of the steps of all tiles along the reductions, those at which they read an element of the
  // buffer. 1 if nothing is left out.
  double Of(const TileChoice& choice) const;

 private:
  double Along(const AffineIndex& index, int64_t extent, const TileChoice& choice) const;

  const Expression& e_;
  const std::optional<OutsideProducts> products_;
};

}  // namespace mdh
