#include "tuner/space/constraints/bounds.h"

#include <algorithm>

#include "tuner/space/constraints/integer_bounds.h"
#include "tuner/space/constraints/real_bounds.h"
#include "tuner/space/constraints/step_function.h"

namespace mdh {
namespace {

uint8_t Negated(uint8_t can) {
  return static_cast<uint8_t>((can & kCanBeUndefined) | ((can & kCanBeTrue) ? kCanBeFalse : 0) |
                              ((can & kCanBeFalse) ? kCanBeTrue : 0));
}

// The left side decides before the right side is looked at.
uint8_t Conjunction(uint8_t a, uint8_t b) {
  if ((a & kCanBeTrue) == 0) return a;
  return static_cast<uint8_t>((a & ~kCanBeTrue) | b);
}

// The value of either branch, as the condition allows.
void EvaluateIf(const Operation& operation, const Bounds* values, Bounds& result) {
  const uint8_t condition = values[operation.operands[0]].can;
  const Bounds& then = values[operation.operands[1]];
  const Bounds& otherwise = values[operation.operands[2]];
  const uint8_t undefined = condition & kCanBeUndefined;
  if ((condition & (kCanBeTrue | kCanBeFalse)) == (kCanBeTrue | kCanBeFalse)) {
    // A branch without values has no ends either.
    const bool condition_kind = operation.kind == ValueKind::kCondition;
    if (condition_kind || (otherwise.can & kCanBeDefined) == 0) {
      result = then;
    } else if ((then.can & kCanBeDefined) == 0) {
      result = otherwise;
    } else if (operation.kind == ValueKind::kReal) {
      result.lo.r = std::min(then.lo.r, otherwise.lo.r);
      result.hi.r = std::max(then.hi.r, otherwise.hi.r);
    } else {
      result.lo.i = std::min(then.lo.i, otherwise.lo.i);
      result.hi.i = std::max(then.hi.i, otherwise.hi.i);
    }
    result.can = then.can | otherwise.can | undefined;
  } else if ((condition & kCanBeTrue) != 0) {
    result = then;
    result.can |= undefined;
  } else if ((condition & kCanBeFalse) != 0) {
    result = otherwise;
    result.can |= undefined;
  } else {
    result.can = undefined;
  }
}

// Zero-based place of an item in the permutation with that lexicographic rank.
int64_t PlaceOfItem(int64_t rank, int item, int items) {
  int64_t arrangements = 1;
  for (int i = 2; i < items; ++i) arrangements *= i;
  uint32_t left = (uint32_t{1} << items) - 1;
  for (int place = 0; place < items; ++place) {
    int64_t skip = rank / arrangements;
    rank %= arrangements;
    if (place + 1 < items) arrangements /= items - 1 - place;
    int candidate = 0;
    for (;; ++candidate) {
      if ((left >> candidate & 1) == 0) continue;
      if (skip-- == 0) break;
    }
    if (candidate == item) return place;
    left &= ~(uint32_t{1} << candidate);
  }
  return items;
}

void EvaluatePosition(const Operation& operation, const Bounds& permutation, Bounds& result) {
  result = permutation.lo.i == permutation.hi.i
               ? Bounds::Integer(PlaceOfItem(permutation.lo.i, operation.number, operation.items))
               : Bounds::Integers(0, operation.items - 1);
}

void EvaluateToReal(const Bounds& integer, Bounds& result) {
  result.lo.r = static_cast<double>(integer.lo.i);
  result.hi.r = static_cast<double>(integer.hi.i);
  result.can = integer.can;
}

// Conditions on conditions, and what else does not need both operands' numbers. False if the
// operation is none of these.
bool EvaluateSpecial(const Operation& operation, const Bounds* values, Bounds& result) {
  const std::vector<int>& operands = operation.operands;
  switch (operation.code) {
    case OperationCode::kConstant:
    case OperationCode::kParameter:
    case OperationCode::kCode:
    case OperationCode::kPredicate:
      return true;  // whoever has their values sets them
    case OperationCode::kToReal:
      EvaluateToReal(values[operands[0]], result);
      return true;
    case OperationCode::kAnd:
      result.can = Conjunction(values[operands[0]].can, values[operands[1]].can);
      return true;
    case OperationCode::kOr:
      result.can =
          Negated(Conjunction(Negated(values[operands[0]].can), Negated(values[operands[1]].can)));
      return true;
    case OperationCode::kNot:
      result.can = Negated(values[operands[0]].can);
      return true;
    case OperationCode::kIf:
      EvaluateIf(operation, values, result);
      return true;
    case OperationCode::kPosition:
      EvaluatePosition(operation, values[operands[0]], result);
      return true;
    case OperationCode::kSteps:
      EvaluateSteps(operation, values[operands[0]], result);
      return true;
    default:
      return false;
  }
}

// Equality of conditions.
void EvaluateSame(uint8_t a, uint8_t b, Bounds& result) {
  constexpr uint8_t kEither = kCanBeFalse | kCanBeTrue;
  result.can = (a | b) & kCanBeUndefined;
  if ((a & kEither) == 0 || (b & kEither) == 0) return;
  if ((a & b & kEither) != 0) result.can |= kCanBeTrue;
  if ((a & kEither) == kEither || (b & kEither) == kEither || (a & b & kEither) == 0) {
    result.can |= kCanBeFalse;
  }
}

}  // namespace

void EvaluateBounds(const Operation& operation, const Bounds* values, Bounds& result) {
  if (operation.code >= OperationCode::kAnd || operation.code <= OperationCode::kToReal) {
    EvaluateSpecial(operation, values, result);
    return;
  }
  const Bounds a = values[operation.operands[0]];
  const Bounds b = operation.operands.size() > 1 ? values[operation.operands[1]] : a;
  if (operation.of_conditions) return EvaluateSame(a.can, b.can, result);
  const uint8_t undefined = (a.can | b.can) & kCanBeUndefined;
  if ((a.can & b.can & kCanBeDefined) == 0) {
    result.can = undefined;
    return;
  }
  if (operation.of_reals) {
    EvaluateRealBounds(operation.code, a, b, result);
  } else {
    EvaluateIntegerBounds(operation.code, a, b, result);
  }
  result.can |= undefined;
}

void EvaluatePoint(const Operation& operation, const Bounds* values, Bounds& result) {
  if (operation.code >= OperationCode::kAnd || operation.code <= OperationCode::kToReal) {
    EvaluateSpecial(operation, values, result);
    return;
  }
  const Bounds& a = values[operation.operands[0]];
  const Bounds& b = operation.operands.size() > 1 ? values[operation.operands[1]] : a;
  if (operation.of_conditions) return EvaluateSame(a.can, b.can, result);
  const uint8_t undefined = (a.can | b.can) & kCanBeUndefined;
  if (undefined != 0) {
    result.can = undefined;
  } else if (operation.of_reals) {
    EvaluateRealPoint(operation.code, a.lo.r, b.lo.r, result);
  } else {
    EvaluateIntegerPoint(operation.code, a.lo.i, b.lo.i, result);
  }
}

}  // namespace mdh
