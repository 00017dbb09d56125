// States of prefixes at one cut, numbered by their first appearance.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tuner/space/wide_integer.h"

namespace mdh {

class StateTable {
 public:
  // States have that many words. If they are known to be distinct they are not looked up.
  StateTable(int words, bool are_distinct) : words_(words), are_distinct_(are_distinct) {}

  // The number of a state; a new one if it is not there yet.
  uint32_t NumberOf(const uint64_t* state) {
    if (words_ == 0) {
      count_ = 1;
      return 0;
    }
    if (are_distinct_) return Append(state);
    if ((count_ + 1) * 2 > slots_.size()) Grow();
    const uint64_t hash = HashOf(state);
    const size_t mask = slots_.size() - 1;
    for (size_t place = hash & mask;; place = (place + 1) & mask) {
      const uint32_t number = slots_[place].number;
      if (number == kNone) {
        slots_[place] = {Append(state), static_cast<uint32_t>(hash >> 32)};
        return count_ - 1;
      }
      if (slots_[place].hash == static_cast<uint32_t>(hash >> 32) && IsSame(number, state)) {
        return number;
      }
    }
  }

  uint32_t count() const { return count_; }
  int words() const { return words_; }
  const uint64_t* state(uint32_t number) const {
    return states_.data() + static_cast<size_t>(number) * words_;
  }
  int64_t bytes() const {
    return static_cast<int64_t>(states_.capacity() * sizeof(uint64_t) +
                                slots_.capacity() * sizeof(Place));
  }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  struct Place {
    uint32_t number = kNone;
    uint32_t hash = 0;
  };

  uint32_t Append(const uint64_t* state) {
    states_.insert(states_.end(), state, state + words_);
    return count_++;
  }

  bool IsSame(uint32_t number, const uint64_t* state) const {
    const uint64_t* other = this->state(number);
    for (int word = 0; word < words_; ++word) {
      if (other[word] != state[word]) return false;
    }
    return true;
  }

  uint64_t HashOf(const uint64_t* state) const {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (int word = 0; word < words_; ++word) {
      const Wide product = static_cast<Wide>(hash ^ state[word]) * 0xd6e8feb86659fd93u;
      hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }
    return hash;
  }

  void Grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, Place{});
    const size_t mask = slots_.size() - 1;
    for (uint32_t number = 0; number < count_; ++number) {
      const uint64_t hash = HashOf(state(number));
      size_t place = hash & mask;
      while (slots_[place].number != kNone) place = (place + 1) & mask;
      slots_[place] = {number, static_cast<uint32_t>(hash >> 32)};
    }
  }

  int words_;
  bool are_distinct_;
  uint32_t count_ = 0;
  std::vector<uint64_t> states_;
  std::vector<Place> slots_;
};

}  // namespace mdh
