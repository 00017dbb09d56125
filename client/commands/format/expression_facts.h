// What follows from an expression and is worth knowing about it: `mdh check` shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/expression/expression.h"

namespace mdh {

// The laws that the function of a combine operator obeys. Those of a user's function are tested on
// values that f can give.
struct OperatorLaws {
  bool is_commutative;                // it is associative in any case
  bool rounds;                        // floating-point sums or products: laws hold up to rounding
  std::vector<ScalarValue> identity;  // one per result; empty: none is known
  bool keeps_order;                   // laws do not hold for nan: CombineOperator::keeps_order
};
// nullopt if all dimensions are concatenated.
std::optional<OperatorLaws> LawsOf(const Expression& expression);

// How often an access reads (or writes) the elements of a buffer, because its index functions do
// not tell all points apart.
struct Reuse {
  // Dimensions of md_hom that no index function of the buffer uses; `factor`: their sizes' product.
  std::vector<int> dimensions;
  int64_t factor = 1;
  // Pairs (index of the buffer, dimensions of md_hom that share it), as p and r do in 2*p + r.
  std::vector<std::pair<int, std::vector<int>>> shared_indices;
  // Accesses of all points, and elements that they can reach at most: the box around all of them,
  // within the buffer.
  double accesses = 0;
  double elements = 0;
};
Reuse ReuseOf(const Expression& expression, const Buffer& buffer);

// "fp32 *" and how often it is computed.
using OperationCounts = std::vector<std::pair<std::string, int>>;
// Operations of one application by type and kind, in the order of the first of each.
OperationCounts CountOperations(const ScalarFunction& function);

}  // namespace mdh
