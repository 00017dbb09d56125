// The values of parameters as operations see them: bools, integers and reals as they are, strings
// by their rank among all strings of a space, permutations by their code.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tuner/space/constraints/bounds.h"
#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/range.h"

namespace mdh {

// Strings to their places in lexicographic order.
using StringRanks = absl::flat_hash_map<std::string, int64_t>;

// All strings of ranges and constants.
StringRanks RankStrings(const std::vector<TuningParameter>& parameters,
                        const std::vector<Constraint>& constraints);

class ParameterValues {
 public:
  ParameterValues(const Range& range, const StringRanks& strings);

  ValueKind kind() const { return kind_; }
  // Whether values grow with positions.
  bool is_increasing() const { return is_increasing_; }
  // The value at a position; for conditions 0 or 1.
  Scalar At(uint32_t position) const {
    if (!table_.empty()) return table_[position];
    return {.i = first_ + step_ * static_cast<int64_t>(position)};
  }
  // One value, or all values at positions first..last.
  Bounds BoundsAt(uint32_t position) const;
  Bounds BoundsOf(uint32_t first, uint32_t last) const;
  // The least position whose value is not below `value`, size if there is none. Expects increasing
  // integers.
  uint32_t PositionNotBelow(int64_t value) const;
  uint32_t size() const { return size_; }

 private:
  ValueKind kind_;
  bool is_increasing_ = true;
  uint32_t size_;
  int64_t first_ = 0;
  int64_t step_ = 0;
  std::vector<Scalar> table_;  // empty: first_ + step_ * position
};

}  // namespace mdh
