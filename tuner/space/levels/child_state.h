// Writes the state after a level from the one before and what the level's parameter decides.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tuner/space/levels/level_plan.h"

namespace mdh {

// Gates of a cut that are decided, and of these, which hold.
struct GateValues {
  uint64_t decided = 0;
  uint64_t are_true = 0;

  static GateValues Of(const Cut& cut, const uint64_t* state);
};

// Not thread-safe. In turn, for every prefix Begin, and for every value Write.
class ChildState {
 public:
  void Enter(const LevelPlan& level, const Cut& before, const Cut& after);
  // Takes over what does not depend on the parameter.
  void Begin(const uint64_t* state);
  // Gates that depend on the parameter; words() are set already where slots do.
  void Write(const GateValues& own);
  // What depends on the parameter, of the cut after.
  const std::vector<int>& own_gates() const { return own_gates_; }
  const std::vector<int>& own_slots() const { return own_slots_; }
  // Of a slot of the cut after.
  uint64_t& word(size_t slot) { return child_[gate_words_ + slot]; }
  const uint64_t* data() const { return child_.data(); }
  // Whether what was written is the same for all values of the parameter, as far as it is needed.
  bool is_same_for_all() const { return is_same_for_all_; }

 private:
  // What gates that are decided make of the others, and of slots.
  static constexpr int kNeedsBits = 8;  // 256 remembered answers
  struct Needs {
    uint64_t known_for = 0;  // decided gates
    bool is_known = false;
    bool keeps_own = false;  // a slot that depends on the parameter is needed
    uint64_t unneeded_gates = 0;
    std::vector<int> unneeded_words{};  // of the state
  };
  const Needs& NeedsFor(uint64_t decided) {
    Needs& needs = needs_[(decided * 0x9e3779b97f4a7c15u) >> (64 - kNeedsBits)];
    if (!needs.is_known || needs.known_for != decided) needs = FindNeeds(decided);
    return needs;
  }
  Needs FindNeeds(uint64_t decided) const;

  const LevelPlan* level_ = nullptr;
  const Cut* before_ = nullptr;
  const Cut* after_ = nullptr;
  int gate_words_ = 0;
  // Gates that stay at the same distance from where they were.
  struct Shift {
    int up;
    uint64_t mask;  // of the cut before
  };
  std::vector<Shift> passed_gates_;
  std::vector<int> own_gates_, own_slots_;
  std::vector<std::pair<int, int>> passed_words_;  // from, to
  std::vector<Needs> needs_;                       // by hash of the decided gates
  const uint64_t* state_ = nullptr;
  GateValues passed_;
  std::vector<uint64_t> child_;
  bool is_same_for_all_ = false;
};

}  // namespace mdh
