// Evaluates operations for one prefix: what its state says, and a choice of the next parameter.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/levels/level_plan.h"

namespace mdh {

// Not thread-safe. Keeps a reference to the plan.
class StepEvaluator {
 public:
  explicit StepEvaluator(const SpacePlan& plan) : plan_(plan), values_(plan.graph.bounds()) {}

  // Prefixes are those of that level from now on; `before` is the cut before it.
  void Enter(const LevelPlan& level, const Cut& before);
  void LoadState(const uint64_t* state);
  // The level's parameter is at one of the positions first..last.
  void SetParameter(uint32_t first, uint32_t last);
  // Operations in turn. is_block: more than one position is possible.
  void Run(const std::vector<Step>& steps, bool is_block) {
    for (const Step& step : steps) RunStep(step, is_block);
  }

  Bounds& value(int operation) { return values_[operation]; }
  const Bounds& value(int operation) const { return values_[operation]; }
  // Which gates of the cut before are decided, and of these, which hold.
  uint64_t decided() const { return decided_; }
  uint64_t are_true() const { return true_; }
  // As a state keeps it.
  uint64_t WordOf(int operation) const;
  // As predicates see a parameter; see OperationCode::kCode.
  int64_t CodeOf(int operand) const;

 private:
  void RunStep(const Step& step, bool is_block);
  void EvaluatePredicate(const Operation& operation, Bounds& result) const;

  const SpacePlan& plan_;
  std::vector<Bounds> values_;  // by operation
  const LevelPlan* level_ = nullptr;
  const Cut* before_ = nullptr;
  uint64_t decided_ = 0;
  uint64_t true_ = 0;
};

}  // namespace mdh
