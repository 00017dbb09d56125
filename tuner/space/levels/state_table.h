// States of prefixes at one cut, numbered by their first appearance.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tuner/space/levels/wide_integer.h"

namespace mdh {

class StateTable {
 public:
  // States have that many words. If they are known to be distinct they are not looked up.
  StateTable(int words, bool are_distinct) : words_(words), are_distinct_(are_distinct) {}

  // Makes room for so many states.
  void Reserve(uint32_t states) {
    if (words_ == 0) return;
    states_.reserve(static_cast<size_t>(states) * words_);
    size_t slots = 64;
    while (slots < size_t{states} * 2) slots *= 2;
    if (!are_distinct_ && slots_.empty()) slots_.assign(slots, Place{});
  }

  // The number of a state; a new one if it is not there yet.
  uint32_t NumberOf(const uint64_t* state) {
    if (words_ == 0) {
      count_ = 1;
      return 0;
    }
    if (are_distinct_) return Append(state);
    if ((count_ + 1) * 2 > slots_.size()) Grow();
    const uint32_t hash = HashOf(state);
    const size_t mask = slots_.size() - 1;
    for (size_t place = hash & mask;; place = (place + 1) & mask) {
      const uint32_t number = slots_[place].number;
      if (number == kNone) {
        slots_[place] = {Append(state), hash};
        return count_ - 1;
      }
      if (slots_[place].hash == hash && IsSame(number, state)) return number;
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

  uint32_t HashOf(const uint64_t* state) const {
    // Two chains, as one waits for its products.
    uint64_t hash = 0x9e3779b97f4a7c15, other = 0xc2b2ae3d27d4eb4f;
    int word = 0;
    for (; word + 1 < words_; word += 2) {
      hash = Mix(hash ^ state[word]);
      other = Mix(other ^ state[word + 1]);
    }
    if (word < words_) hash = Mix(hash ^ state[word]);
    hash = Mix(hash ^ other);
    return static_cast<uint32_t>(hash ^ hash >> 32);
  }

  static uint64_t Mix(uint64_t value) {
    const Wide product = static_cast<Wide>(value) * 0xd6e8feb86659fd93u;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  void Grow() {
    const std::vector<Place> before = std::move(slots_);
    slots_.assign(before.empty() ? 64 : before.size() * 2, Place{});
    const size_t mask = slots_.size() - 1;
    for (const Place& moved : before) {
      if (moved.number == kNone) continue;
      size_t place = moved.hash & mask;
      while (slots_[place].number != kNone) place = (place + 1) & mask;
      slots_[place] = moved;
    }
  }

  int words_;
  bool are_distinct_;
  uint32_t count_ = 0;
  std::vector<uint64_t> states_;
  std::vector<Place> slots_;
};

}  // namespace mdh
