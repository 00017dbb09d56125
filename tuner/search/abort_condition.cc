// What abort conditions mean.
#include "tuner/search/abort_condition.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tuner/search/abort_condition_node.h"

namespace mdh {
namespace {

// Whether `now` is smaller than `then` by at least the factor. Below zero, costs grow away from it.
bool Improved(double then, double now, double factor) {
  if (now >= then) return false;
  if (now > 0) return then >= factor * now;
  return then >= 0 || now <= factor * then;
}

// Whether the best cost of the window's start, which is at `start` on the scale of `position`, has
// not improved by the factor; false if there was none.
template <typename Position>
bool Stagnates(const SearchProgress& progress, double factor, int64_t start, Position position) {
  const SearchProgress::Improvement* then = nullptr;
  for (const SearchProgress::Improvement& improvement : progress.improvements) {
    if (position(improvement) <= start) then = &improvement;
  }
  return then != nullptr && progress.best_cost &&
         !Improved(then->cost, *progress.best_cost, factor);
}

double FractionEnd(const SearchProgress& progress, double fraction) {
  return std::ceil(fraction * progress.space_count.get_d());
}

std::optional<int64_t> Both(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return std::nullopt;
  return std::max(*a, *b);
}

std::optional<int64_t> Either(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

AbortCondition AbortCondition::Node::Make(Node node) {
  return AbortCondition(std::make_shared<const Node>(std::move(node)));
}

AbortCondition AbortCondition::Node::Join(Kind kind, AbortCondition a, AbortCondition b) {
  std::vector<AbortCondition> operands;
  for (const AbortCondition& side : {a, b}) {
    if (Of(side).kind == kind) {
      operands.insert(operands.end(), Of(side).operands.begin(), Of(side).operands.end());
    } else {
      operands.push_back(side);
    }
  }
  return Make({.kind = kind, .operands = std::move(operands)});
}

AbortCondition AbortCondition::Duration(int64_t nanoseconds) {
  return Node::Make({.kind = Node::Kind::kDuration, .count = nanoseconds});
}

AbortCondition AbortCondition::Evaluations(int64_t count) {
  return Node::Make({.kind = Node::Kind::kEvaluations, .count = count});
}

AbortCondition AbortCondition::ValidEvaluations(int64_t count) {
  return Node::Make({.kind = Node::Kind::kValidEvaluations, .count = count});
}

AbortCondition AbortCondition::Fraction(double fraction) {
  return Node::Make({.kind = Node::Kind::kFraction, .number = fraction});
}

AbortCondition AbortCondition::CostReached(double cost) {
  return Node::Make({.kind = Node::Kind::kCost, .number = cost});
}

AbortCondition AbortCondition::SpeedupOverDuration(double factor, int64_t nanoseconds) {
  return Node::Make(
      {.kind = Node::Kind::kSpeedupOverDuration, .count = nanoseconds, .number = factor});
}

AbortCondition AbortCondition::SpeedupOverEvaluations(double factor, int64_t count) {
  return Node::Make(
      {.kind = Node::Kind::kSpeedupOverEvaluations, .count = count, .number = factor});
}

AbortCondition operator&&(AbortCondition a, AbortCondition b) {
  return AbortCondition::Node::Join(AbortCondition::Node::Kind::kAnd, std::move(a), std::move(b));
}

AbortCondition operator||(AbortCondition a, AbortCondition b) {
  return AbortCondition::Node::Join(AbortCondition::Node::Kind::kOr, std::move(a), std::move(b));
}

bool AbortCondition::Holds(const SearchProgress& progress) const { return node_->Holds(progress); }

bool AbortCondition::Implies(const AbortCondition& other) const {
  return node_->Implies(*other.node_);
}

std::optional<int64_t> AbortCondition::EvaluationsLeft(const SearchProgress& progress) const {
  return node_->EvaluationsLeft(progress);
}

std::optional<int64_t> AbortCondition::NanosecondsLeft(const SearchProgress& progress) const {
  return node_->NanosecondsLeft(progress);
}

bool AbortCondition::Node::Holds(const SearchProgress& progress) const {
  const auto holds = [&progress](const AbortCondition& operand) { return operand.Holds(progress); };
  switch (kind) {
    case Kind::kDuration:
      return progress.elapsed_ns >= count;
    case Kind::kEvaluations:
      return progress.evaluations >= count;
    case Kind::kValidEvaluations:
      return progress.valid_evaluations >= count;
    case Kind::kFraction:
      return progress.space_count > 0 &&
             static_cast<double>(progress.evaluations) >= FractionEnd(progress, number);
    case Kind::kCost:
      return progress.best_cost && *progress.best_cost <= number;
    case Kind::kSpeedupOverDuration:
      return Stagnates(progress, number, progress.elapsed_ns - count,
                       [](const SearchProgress::Improvement& at) { return at.elapsed_ns; });
    case Kind::kSpeedupOverEvaluations:
      return Stagnates(progress, number, progress.evaluations - count,
                       [](const SearchProgress::Improvement& at) { return at.evaluations; });
    case Kind::kAnd:
      return std::ranges::all_of(operands, holds);
    case Kind::kOr:
      return std::ranges::any_of(operands, holds);
  }
  return false;
}

std::optional<int64_t> AbortCondition::Node::EvaluationsLeft(const SearchProgress& progress) const {
  if (Holds(progress)) return 0;
  if (kind == Kind::kEvaluations) return count - progress.evaluations;
  if (kind == Kind::kFraction && progress.space_count > 0) {
    const double left = FractionEnd(progress, number) - static_cast<double>(progress.evaluations);
    if (left < 0x1p62) return static_cast<int64_t>(left);
  }
  if (kind != Kind::kAnd && kind != Kind::kOr) return std::nullopt;
  std::optional<int64_t> left = operands.front().EvaluationsLeft(progress);
  for (const AbortCondition& operand : operands) {
    left = kind == Kind::kAnd ? Both(left, operand.EvaluationsLeft(progress))
                              : Either(left, operand.EvaluationsLeft(progress));
  }
  return left;
}

std::optional<int64_t> AbortCondition::Node::NanosecondsLeft(const SearchProgress& progress) const {
  if (Holds(progress)) return 0;
  if (kind == Kind::kDuration) return count - progress.elapsed_ns;
  if (kind != Kind::kAnd && kind != Kind::kOr) return std::nullopt;
  std::optional<int64_t> left = operands.front().NanosecondsLeft(progress);
  for (const AbortCondition& operand : operands) {
    left = kind == Kind::kAnd ? Both(left, operand.NanosecondsLeft(progress))
                              : Either(left, operand.NanosecondsLeft(progress));
  }
  return left;
}

bool AbortCondition::Node::Implies(const Node& other) const {
  const auto implied = [this](const AbortCondition& operand) { return Implies(Of(operand)); };
  const auto implies = [&other](const AbortCondition& operand) {
    return Of(operand).Implies(other);
  };
  if (kind == Kind::kOr) return std::ranges::all_of(operands, implies);
  if (other.kind == Kind::kAnd) return std::ranges::all_of(other.operands, implied);
  if (kind == Kind::kAnd && std::ranges::any_of(operands, implies)) return true;
  if (other.kind == Kind::kOr) return std::ranges::any_of(other.operands, implied);
  return kind != Kind::kAnd && LeafImplies(other);
}

bool AbortCondition::Node::LeafImplies(const Node& leaf) const {
  switch (leaf.kind) {
    case Kind::kDuration:
      return (kind == Kind::kDuration || kind == Kind::kSpeedupOverDuration) && count >= leaf.count;
    case Kind::kEvaluations:
      return (kind == Kind::kEvaluations || kind == Kind::kValidEvaluations ||
              kind == Kind::kSpeedupOverEvaluations) &&
             count >= leaf.count;
    case Kind::kValidEvaluations:
      return kind == leaf.kind && count >= leaf.count;
    case Kind::kFraction:
      return kind == leaf.kind && number >= leaf.number;
    case Kind::kCost:
      return kind == leaf.kind && number <= leaf.number;
    case Kind::kSpeedupOverDuration:
    case Kind::kSpeedupOverEvaluations:
      return kind == leaf.kind && number <= leaf.number && count >= leaf.count;
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  return false;
}

}  // namespace mdh
