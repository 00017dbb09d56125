#include "tuner/space/levels/step_evaluator.h"

#include "absl/container/inlined_vector.h"
#include "tuner/space/constraints/integer_bounds.h"

namespace mdh {
namespace {

// What no value of a slot looks like.
constexpr uint64_t kDividedByZeroWord = 0x8000000000000000;
constexpr uint64_t kOverflowWord = 0x8000000000000001;
constexpr uint64_t kRealDividedByZeroWord = 0x7ff8000000000001;
constexpr uint64_t kRealOverflowWord = 0x7ff8000000000002;

uint64_t PackWord(ValueKind kind, const Bounds& bounds) {
  if (kind == ValueKind::kCondition) return bounds.can;
  const bool is_real = kind == ValueKind::kReal;
  if ((bounds.can & kCanOverflow) != 0) return is_real ? kRealOverflowWord : kOverflowWord;
  if ((bounds.can & kCanDivideByZero) != 0) {
    return is_real ? kRealDividedByZeroWord : kDividedByZeroWord;
  }
  return static_cast<uint64_t>(bounds.lo.i);
}

Bounds UnpackWord(ValueKind kind, uint64_t word) {
  Bounds bounds;
  if (kind == ValueKind::kCondition) {
    bounds.can = static_cast<uint8_t>(word);
    return bounds;
  }
  const bool is_real = kind == ValueKind::kReal;
  bounds.lo.i = bounds.hi.i = static_cast<int64_t>(word);
  bounds.can = kCanBeDefined;
  if (word == (is_real ? kRealDividedByZeroWord : kDividedByZeroWord)) {
    bounds.can = kCanDivideByZero;
  } else if (word == (is_real ? kRealOverflowWord : kOverflowWord)) {
    bounds.can = kCanOverflow;
  }
  return bounds;
}

// A sum that does not overflow.
void AddRest(const Bounds& a, const Bounds& rest, Bounds& result) {
  result.can = static_cast<uint8_t>((a.can | rest.can) & kCanBeUndefined);
  if ((a.can & rest.can & kCanBeDefined) == 0) return;
  result.lo.i = a.lo.i + rest.lo.i;
  result.hi.i = a.hi.i + rest.hi.i;
  result.can |= kCanBeDefined;
}

}  // namespace

void StepEvaluator::Enter(const LevelPlan& level, const Cut& before) {
  level_ = &level;
  before_ = &before;
  for (int operation : level.unknown) values_[operation] = plan_.graph.bounds()[operation];
}

void StepEvaluator::LoadState(const uint64_t* state) {
  const Cut& cut = *before_;
  decided_ = true_ = 0;
  const int gate_words = cut.gate_words();
  if (gate_words == 1) {
    decided_ = state[0] & 0xffffffff;
    true_ = state[0] >> 32;
  } else if (gate_words == 2) {
    decided_ = state[0];
    true_ = state[1];
  }
  const uint64_t* word = state + gate_words;
  for (const Slot& slot : cut.slots) {
    values_[slot.operation] = UnpackWord(plan_.graph.operations()[slot.operation].kind, *word++);
  }
}

uint64_t StepEvaluator::WordOf(int operation) const {
  return PackWord(plan_.graph.operations()[operation].kind, values_[operation]);
}

int64_t StepEvaluator::CodeOf(int operand) const {
  const bool is_condition = plan_.graph.operations()[operand].kind == ValueKind::kCondition;
  const Bounds& value = values_[operand];
  return is_condition ? static_cast<int64_t>(value.can == kCanBeTrue) : value.lo.i;
}

void StepEvaluator::EvaluatePredicate(const Operation& operation, Bounds& result) const {
  absl::InlinedVector<int64_t, 16> codes;
  for (int operand : operation.operands) codes.push_back(CodeOf(operand));
  result.can = plan_.graph.predicates()[operation.number](codes);
}

void StepEvaluator::RunStep(const Step& step, bool is_block) {
  Bounds& result = values_[step.operation];
  if ((step.gate & decided_) != 0) {
    result.can = (step.gate & true_) != 0 ? kCanBeTrue : kCanBeFalse;
    return;
  }
  if (step.is_integer && step.is_point && !is_block) {
    const Bounds& a = values_[step.a];
    const Bounds& b = values_[step.b];
    if ((a.can & b.can) == kCanBeDefined) {
      return EvaluateIntegerPoint(step.code, a.lo.i, b.lo.i, result);
    }
  }
  if (step.rest >= 0) return AddRest(values_[step.a], plan_.rests[step.rest], result);
  const Operation& operation = plan_.graph.operations()[step.operation];
  if (operation.code == OperationCode::kPredicate) {
    if (step.is_point && !is_block) {
      EvaluatePredicate(operation, result);
    } else {
      result.can = kCanBeFalse | kCanBeTrue | kCanBeUndefined;
    }
  } else if (step.is_point && !is_block) {
    EvaluatePoint(operation, values_.data(), result);
  } else {
    EvaluateBounds(operation, values_.data(), result);
  }
}

void StepEvaluator::SetParameter(uint32_t first, uint32_t last) {
  for (int leaf : level_->leaves) {
    if (plan_.graph.operations()[leaf].code == OperationCode::kCode) {
      values_[leaf] = Bounds::Integers(first, last);
    } else {
      const ParameterValues& values = plan_.values[level_->parameter];
      values_[leaf] = first == last ? values.BoundsAt(first) : values.BoundsOf(first, last);
    }
  }
}

}  // namespace mdh
