// Which records a search can start from: those of the same computation in other sizes, or on other
// devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mdh/v1/record.pb.h"

namespace mdh {

// A canonical form (core/canonical.h) taken apart.
struct ExpressionShape {
  std::string structure;       // without sizes, extents and strides
  std::vector<int64_t> sizes;  // of the dimensions

  // nullopt if the text is no canonical form.
  static std::optional<ExpressionShape> Of(const std::string& canonical_form);
};

// How far a record made for `known` is from a search for `wanted`: doublings or halvings of sizes,
// summed over the dimensions, and more for another device. nullopt for another computation.
std::optional<double> Distance(const ExpressionShape& wanted, const v1::KernelKey& wanted_key,
                               const ExpressionShape& known, const v1::KernelKey& known_key);

}  // namespace mdh
