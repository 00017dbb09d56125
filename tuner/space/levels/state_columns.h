// The words of all states at a cut as small numbers: equal words of a column have equal numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/levels/state_table.h"

namespace mdh {

class StateColumns {
 public:
  explicit StateColumns(const StateTable& states);

  // Numbers of a state's words, by word.
  const uint32_t* numbers(uint32_t state) const {
    return numbers_.data() + static_cast<size_t>(state) * values_.size();
  }
  // The words that a column has, by their numbers.
  const std::vector<uint64_t>& values(int word) const { return values_[word]; }
  uint32_t states() const { return states_; }

 private:
  uint32_t states_;
  std::vector<std::vector<uint64_t>> values_;
  std::vector<uint32_t> numbers_;
};

}  // namespace mdh
