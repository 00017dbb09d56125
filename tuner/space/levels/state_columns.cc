#include "tuner/space/levels/state_columns.h"

#include <limits>

#include "absl/container/flat_hash_map.h"

namespace mdh {
namespace {

// Smaller words, which are most, are found without a hash.
constexpr uint64_t kDirect = 1024;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

}  // namespace

StateColumns::StateColumns(const StateTable& states)
    : states_(states.count()), values_(states.words()) {
  const size_t words = values_.size();
  numbers_.resize(states_ * words);
  std::vector<uint32_t> direct(kDirect);
  absl::flat_hash_map<uint64_t, uint32_t> others;
  for (size_t word = 0; word < words; ++word) {
    direct.assign(kDirect, kNone);
    others.clear();
    std::vector<uint64_t>& values = values_[word];
    for (uint32_t state = 0; state < states_; ++state) {
      const uint64_t value = states.state(state)[word];
      uint32_t& number =
          value < kDirect ? direct[value] : others.try_emplace(value, kNone).first->second;
      if (number == kNone) {
        number = static_cast<uint32_t>(values.size());
        values.push_back(value);
      }
      numbers_[state * words + word] = number;
    }
  }
}

}  // namespace mdh
