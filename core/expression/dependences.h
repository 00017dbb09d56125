// Which dimensions the values of f depend on, and which of them may be exchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/expression/expression.h"

namespace mdh {

// Dimensions of more than one index, by number.
using DimensionSet = uint64_t;
static_assert(Expression::kMaxDimensions <= 64);

inline bool IsIn(DimensionSet set, int d) { return (set >> d & 1) != 0; }

DimensionSet ActiveDimensions(const Expression& expression);
DimensionSet ReducedDimensions(const Expression& expression);  // of these

// Those that a parameter of f depends on: an index, or an access by its index functions.
DimensionSet DimensionsOfParameter(const Expression& expression, int parameter);

// Those that each instruction of f depends on.
std::vector<DimensionSet> DimensionsOfInstructions(const Expression& expression);

// Ascending.
std::vector<int> Members(DimensionSet set);

// Combinations of the indices of these dimensions; 1 of none.
int64_t PointsAlong(const Expression& expression, const std::vector<int>& dimensions);

// By result of f: whether every value of it that is combined must be known. Not so where the store
// function, or the combine operator, may ignore it.
std::vector<bool> NeededResults(const Expression& expression);

// Dimensions that are concatenated, of one size, and that may be exchanged: at the point with the
// indices of any two of them exchanged f reads the same elements, and computes the same of them as
// its operations that commute have their operands in another order, to the last bit. So does
// md_hom, as reductions keep their order: of a Gram product r[i,j] = SUM x[i,k] x[j,k] the results
// r[i,j] and r[j,i] are equal. Groups of two or more, ascending; none with prefix sums or a store
// function, or where f has too many instructions for it to be found out.
std::vector<std::vector<int>> ExchangeableDimensions(const Expression& expression);

// Two of them, where there are such: of results on both sides of the diagonal, those where the
// index along `row` is the smaller one are equal to others.
struct ExchangeablePair {
  int row, column;
};
std::optional<ExchangeablePair> FirstExchangeablePair(const Expression& expression);

// How often results are there because of that, at most: the product of the factorials of the
// groups' sizes. And the share of all results that are left where each is computed once.
double MostEqualResults(const Expression& expression);
double ShareOfDistinctResults(const Expression& expression);

}  // namespace mdh
