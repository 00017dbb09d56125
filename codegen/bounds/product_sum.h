// Sums of products: what is left of them when factors are regrouped and taken out of sums.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "codegen/bounds/certain_work.h"
#include "codegen/bounds/distinct_operands.h"
#include "core/expression/expression.h"

namespace mdh {

// The only result of f is a product, and + combines it.
struct ProductSum {
  std::set<int> products;                  // instructions that multiply, divide or negate
  std::vector<int> factors;                // instructions that are not among them
  std::vector<DimensionSet> uses;          // of the factors, what they depend on
  std::vector<Coefficients> rows;          // idem, the elements
  ScalarType type = ScalarType::kFloat32;  // of the products
  bool divides = false;                    // by one of its factors
};

// Of floating-point types. nullopt: it is none, or nothing of it is regrouped: a product of two
// factors is not, unless both depend on all that is summed over.
std::optional<ProductSum> FindProductSum(const Expression& expression);

// The least multiplications and additions in which it can be computed, in any order of the sums: a
// dimension can be summed over once all factors that depend on it are multiplied, and factors that
// do not depend on it may be multiplied with the sum. Products of two factors are taken as they
// are: nothing is factored out of their sums. Where there are divisions, none of the
// multiplications is certain: a * b / c is a / (c / b), too.
ArithmeticWork WorkOf(const ProductSum& product, const DistinctOperands& operands,
                      DimensionSet reduced);

}  // namespace mdh
