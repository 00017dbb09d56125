// Which dimensions the values of f depend on.
#pragma once

#include <cstdint>
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

}  // namespace mdh
