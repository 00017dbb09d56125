#include "tuner/space/constraints/parameter_values.h"

#include <algorithm>
#include <set>

namespace mdh {
namespace {

void CollectStrings(const Formula& formula, std::set<std::string>& strings) {
  if (formula.op() == FormulaOp::kConstant && TypeOf(formula.constant()) == ValueType::kString) {
    strings.insert(std::get<std::string>(formula.constant()));
  }
  for (const Formula& operand : formula.operands()) CollectStrings(operand, strings);
}

ValueKind KindOf(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return ValueKind::kCondition;
    case ValueType::kReal:
      return ValueKind::kReal;
    default:
      return ValueKind::kInteger;
  }
}

Scalar ScalarOf(const Value& value, const StringRanks& strings) {
  switch (TypeOf(value)) {
    case ValueType::kBool:
      return {.i = std::get<bool>(value) ? 1 : 0};
    case ValueType::kInteger:
      return {.i = std::get<int64_t>(value)};
    case ValueType::kReal:
      return {.r = std::get<double>(value)};
    case ValueType::kString:
      return {.i = strings.at(std::get<std::string>(value))};
    default:
      return {.i = 0};
  }
}

}  // namespace

StringRanks RankStrings(const std::vector<TuningParameter>& parameters,
                        const std::vector<Constraint>& constraints) {
  std::set<std::string> strings;
  for (const TuningParameter& parameter : parameters) {
    if (parameter.range.type() != ValueType::kString) continue;
    for (uint32_t position = 0; position < parameter.range.size(); ++position) {
      strings.insert(
          std::get<std::string>(parameter.range.ValueOf(parameter.range.CodeAt(position))));
    }
  }
  for (const Constraint& constraint : constraints) CollectStrings(constraint.formula, strings);
  StringRanks ranks;
  for (const std::string& string : strings) ranks.emplace(string, ranks.size());
  return ranks;
}

ParameterValues::ParameterValues(const Range& range, const StringRanks& strings)
    : kind_(KindOf(range.type())), size_(range.size()) {
  if (range.step() > 0 || range.type() == ValueType::kPermutation) {
    first_ = range.CodeAt(0);
    step_ = std::max<int64_t>(range.step(), 1);
    return;
  }
  table_.reserve(size_);
  for (uint32_t position = 0; position < size_; ++position) {
    const int64_t code = range.CodeAt(position);
    const bool is_code = range.type() == ValueType::kBool || range.type() == ValueType::kInteger;
    table_.push_back(is_code ? Scalar{.i = code} : ScalarOf(range.ValueOf(code), strings));
    if (position == 0) continue;
    const Scalar before = table_[position - 1];
    const Scalar now = table_[position];
    is_increasing_ &= kind_ == ValueKind::kReal ? before.r < now.r : before.i < now.i;
  }
}

Bounds ParameterValues::BoundsAt(uint32_t position) const {
  const Scalar value = At(position);
  if (kind_ == ValueKind::kCondition) return Bounds::Condition(value.i != 0);
  return {value, value, kCanBeDefined};
}

Bounds ParameterValues::BoundsOf(uint32_t first, uint32_t last) const {
  if (is_increasing_ && kind_ != ValueKind::kCondition) {
    return {At(first), At(last), kCanBeDefined};
  }
  Bounds bounds = BoundsAt(first);
  for (uint32_t position = first + 1; position <= last; ++position) {
    const Scalar value = At(position);
    if (kind_ == ValueKind::kCondition) {
      bounds.can |= BoundsAt(position).can;
    } else if (kind_ == ValueKind::kReal) {
      bounds.lo.r = std::min(bounds.lo.r, value.r);
      bounds.hi.r = std::max(bounds.hi.r, value.r);
    } else {
      bounds.lo.i = std::min(bounds.lo.i, value.i);
      bounds.hi.i = std::max(bounds.hi.i, value.i);
    }
  }
  return bounds;
}

uint32_t ParameterValues::PositionNotBelow(int64_t value) const {
  if (table_.empty()) {
    if (value <= first_) return 0;
    const uint64_t offset = static_cast<uint64_t>(value) - static_cast<uint64_t>(first_);
    const uint64_t position = (offset - 1) / static_cast<uint64_t>(step_) + 1;
    return position < size_ ? static_cast<uint32_t>(position) : size_;
  }
  uint32_t lo = 0;
  uint32_t hi = size_;
  while (lo < hi) {
    const uint32_t middle = lo + (hi - lo) / 2;
    if (At(middle).i < value) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return lo;
}

}  // namespace mdh
