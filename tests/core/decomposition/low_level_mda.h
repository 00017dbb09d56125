// Low-level MDAs of results (paper, Definition 12) as the low-level interpreter combines them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/expression/expression.h"
#include "core/scalar/scalar_value.h"
#include "tests/core/decomposition/low_level_input.h"

namespace mdh {

// The results of f at one point: a value of T^OUT.
using Results = std::vector<ScalarValue>;
using CombineFunction = std::function<Results(const Results& left, const Results& right)>;

// Results at the points of a product of index sets; a dimension that has been reduced has one
// index, which says nothing.
struct ResultMda {
  std::vector<std::vector<int64_t>> index_sets;  // per dimension, ascending
  std::vector<Results> values;                   // of all points, the last dimension fastest
};

// The parts of one level along dimension d, from left to right, concatenated (Example 1).
ResultMda Concatenate(std::vector<ResultMda> parts, int d);
// Combined point by point (Example 2).
ResultMda CombinePointWise(std::vector<ResultMda> parts, const CombineFunction& combine);
// Concatenated, each part after what is before it in dimension d has been added to it (Example 15).
// Expects that all indices of a part come before those of the next one.
ResultMda CombinePrefixSums(std::vector<ResultMda> parts, int d, const CombineFunction& combine);
// The prefix sum of singletons: along dimension d from the first index to the last.
void SumAlong(ResultMda* mda, int d, const CombineFunction& combine);

// The same values after they have been stored in low-level BUFs of these layouts, one per output
// buffer, and read back.
ResultMda ThroughBuffers(const Expression& expression, const ResultMda& mda,
                         const std::vector<std::vector<int>>& layouts);

// Calls visit(point, values) for every point of the MDA.
template <typename Visit>
void ForEachPoint(const ResultMda& mda, const Visit& visit) {
  IndexBox numbers;
  for (const std::vector<int64_t>& set : mda.index_sets) {
    numbers.first.push_back(0);
    numbers.last.push_back(static_cast<int64_t>(set.size()) - 1);
  }
  std::vector<int64_t> point(mda.index_sets.size());
  size_t place = 0;
  ForEachIndex(numbers, [&](const std::vector<int64_t>& at) {
    for (size_t d = 0; d < at.size(); ++d) point[d] = mda.index_sets[d][at[d]];
    visit(point, place++);
  });
}

}  // namespace mdh
