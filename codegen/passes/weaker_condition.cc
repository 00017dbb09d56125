#include "codegen/passes/weaker_condition.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mdh {
namespace {

constexpr size_t kTests = 2;  // that are left of a conjunction

const LoopOperation* AsOperation(const LoopValue& value, ScalarOp op) {
  const auto* operation = std::get_if<LoopOperation>(&value->form);
  return operation != nullptr && operation->op == op ? operation : nullptr;
}

class Weakener {
 public:
  explicit Weakener(const ValueOfName& value_of) : value_of_(value_of) {}
  int dropped() const { return dropped_; }

  LoopValue Weaken(const LoopValue& condition) {
    const LoopValue value = Resolved(condition);
    if (const LoopOperation* either = AsOperation(value, ScalarOp::kOr)) {
      LoopValue first = Weaken(either->operands[0]);
      return MakeOperation(ScalarOp::kOr, ScalarType::kBool,
                           {std::move(first), Weaken(either->operands[1])});
    }
    std::vector<LoopValue> factors, tests;
    AddFactors(value, factors);
    std::ranges::copy_if(factors, std::back_inserter(tests), [](const LoopValue& f) {
      return AsOperation(f, ScalarOp::kEq) != nullptr;
    });
    if (tests.empty() || factors.size() <= kTests) return condition;
    tests.resize(std::min(tests.size(), kTests));
    for (const LoopValue& factor : factors) dropped_ += Comparisons(factor);
    dropped_ -= static_cast<int>(tests.size());
    return tests.size() == 1 ? tests[0]
                             : MakeOperation(ScalarOp::kAnd, ScalarType::kBool, std::move(tests));
  }

 private:
  LoopValue Resolved(const LoopValue& value) const {
    const auto* named = std::get_if<NamedValue>(&value->form);
    if (named == nullptr) return value;
    LoopValue known = value_of_(named->name);
    return known == nullptr ? value : known;
  }

  void AddFactors(const LoopValue& condition, std::vector<LoopValue>& factors) const {
    const LoopValue value = Resolved(condition);
    const LoopOperation* both = AsOperation(value, ScalarOp::kAnd);
    if (both == nullptr) return factors.push_back(value);
    for (const LoopValue& operand : both->operands) AddFactors(operand, factors);
  }

  int Comparisons(const LoopValue& condition) const {
    const LoopValue value = Resolved(condition);
    for (const ScalarOp op : {ScalarOp::kAnd, ScalarOp::kOr}) {
      if (const LoopOperation* both = AsOperation(value, op)) {
        return Comparisons(both->operands[0]) + Comparisons(both->operands[1]);
      }
    }
    return 1;
  }

  const ValueOfName& value_of_;
  int dropped_ = 0;
};

}  // namespace

LoopValue WeakerCondition(const LoopValue& condition, const ValueOfName& value_of,
                          int least_dropped) {
  Weakener weakener(value_of);
  LoopValue weaker = weakener.Weaken(condition);
  return weakener.dropped() >= least_dropped ? weaker : nullptr;
}

}  // namespace mdh
