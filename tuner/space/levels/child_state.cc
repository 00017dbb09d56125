#include "tuner/space/levels/child_state.h"

#include <algorithm>

namespace mdh {

GateValues GateValues::Of(const Cut& cut, const uint64_t* state) {
  switch (cut.gate_words()) {
    case 0:
      return {};
    case 1:
      return {state[0] & 0xffffffff, state[0] >> 32};
    default:
      return {state[0], state[1]};
  }
}

void ChildState::Enter(const LevelPlan& level, const Cut& before, const Cut& after) {
  level_ = &level;
  before_ = &before;
  after_ = &after;
  gate_words_ = after.gate_words();
  child_.assign(after.words() + 1, 0);
  needs_.assign(size_t{1} << kNeedsBits, {});
  own_gates_.clear();
  own_slots_.clear();
  passed_gates_.clear();
  passed_words_.clear();
  for (size_t bit = 0; bit < after.gates.size(); ++bit) {
    const int from = level.gate_sources[bit].bit;
    if (level.gate_sources[bit].operation >= 0) own_gates_.push_back(static_cast<int>(bit));
    if (from < 0) continue;
    const int up = static_cast<int>(bit) - from;
    const auto same =
        std::ranges::find_if(passed_gates_, [up](const Shift& shift) { return shift.up == up; });
    Shift& shift = same == passed_gates_.end() ? passed_gates_.emplace_back(Shift{up, 0}) : *same;
    shift.mask |= uint64_t{1} << from;
  }
  for (size_t slot = 0; slot < after.slots.size(); ++slot) {
    const int from = level.slot_sources[slot].word;
    if (from >= 0) passed_words_.emplace_back(from, gate_words_ + static_cast<int>(slot));
    if (level.slot_sources[slot].operation >= 0) own_slots_.push_back(static_cast<int>(slot));
  }
}

void ChildState::Begin(const uint64_t* state) {
  state_ = state;
  passed_ = {};
  if (passed_gates_.empty()) return;
  const GateValues before = GateValues::Of(*before_, state);
  const auto moved = [](uint64_t gates, int up) { return up < 0 ? gates >> -up : gates << up; };
  for (const Shift& shift : passed_gates_) {
    passed_.decided |= moved(before.decided & shift.mask, shift.up);
    passed_.are_true |= moved(before.are_true & shift.mask, shift.up);
  }
}

ChildState::Needs ChildState::FindNeeds(uint64_t decided) const {
  Needs needs;
  needs.known_for = decided;
  needs.is_known = true;
  uint64_t so_far = 0;
  for (size_t bit = 0; bit < after_->gates.size(); ++bit) {
    const uint64_t mask = uint64_t{1} << bit;
    if (!IsNeeded(after_->gates[bit].paths, so_far)) needs.unneeded_gates |= mask;
    so_far |= (decided | needs.unneeded_gates) & mask;
  }
  for (size_t slot = 0; slot < after_->slots.size(); ++slot) {
    if (IsNeeded(after_->slots[slot].paths, so_far)) {
      needs.keeps_own |= level_->slot_sources[slot].operation >= 0;
    } else {
      needs.unneeded_words.push_back(gate_words_ + static_cast<int>(slot));
    }
  }
  return needs;
}

void ChildState::Write(const GateValues& own) {
  for (const auto& [from, to] : passed_words_) child_[to] = state_[from];
  uint64_t decided = passed_.decided | own.decided;
  const Needs& needs = NeedsFor(decided);
  is_same_for_all_ = !needs.keeps_own;
  for (const int word : needs.unneeded_words) child_[word] = 0;
  decided |= needs.unneeded_gates;
  const uint64_t are_true = (passed_.are_true | own.are_true) & ~needs.unneeded_gates;
  if (gate_words_ == 1) child_[0] = decided | are_true << 32;
  if (gate_words_ == 2) {
    child_[0] = decided;
    child_[1] = are_true;
  }
}

}  // namespace mdh
