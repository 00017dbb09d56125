// What is known of the value of an operation while some parameters are not chosen yet: an interval
// of numbers, or a set of outcomes. All later choices give a value inside.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace mdh {

union Scalar {
  int64_t i;
  double r;
};

// What an operation can come to. Numbers are defined, conditions false or true.
inline constexpr uint8_t kCanBeFalse = 1;
inline constexpr uint8_t kCanBeTrue = 2;
inline constexpr uint8_t kCanBeDefined = 2;
inline constexpr uint8_t kCanDivideByZero = 4;
inline constexpr uint8_t kCanOverflow = 8;
inline constexpr uint8_t kCanBeUndefined = kCanDivideByZero | kCanOverflow;

// Conditions only have `can`. A value that is known has lo == hi. Bounds beyond 64 bits are
// saturated, with kCanOverflow.
struct Bounds {
  Scalar lo{.i = 0};
  Scalar hi{.i = 0};
  uint8_t can = 0;

  static Bounds Integer(int64_t value) { return {{.i = value}, {.i = value}, kCanBeDefined}; }
  static Bounds Integers(int64_t lo, int64_t hi) { return {{.i = lo}, {.i = hi}, kCanBeDefined}; }
  static Bounds Real(double value) { return {{.r = value}, {.r = value}, kCanBeDefined}; }
  static Bounds Reals(double lo, double hi) { return {{.r = lo}, {.r = hi}, kCanBeDefined}; }
  static Bounds Condition(bool value) {
    Bounds bounds;
    bounds.can = value ? kCanBeTrue : kCanBeFalse;
    return bounds;
  }
};

enum class ValueKind : uint8_t { kCondition, kInteger, kReal };

// Formulas (formula.h) with types decided: strings and permutations are integers, comparisons are
// equal, less or less-equal, chains are binary once levels are known (operation_graph.h).
enum class OperationCode : uint8_t {
  kConstant,
  kParameter,
  kCode,  // of a parameter whose value is no integer; for predicates
  kToReal,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kRemainder,
  kPower,
  kNegate,
  kAbsolute,
  kMin,
  kMax,
  kCeilDivide,
  kDivides,
  kEqual,
  kLess,
  kLessEqual,
  kAnd,
  kOr,
  kNot,
  kIf,
  kPosition,
  kSteps,  // a table of its operand (step_function.h)
  kPredicate,
};

// An opaque condition: what it can come to for the codes of its operands, in their order.
using OpaqueCondition = std::function<uint8_t(absl::Span<const int64_t> codes)>;

// An entry of a table: operands up to `at_most`, and beyond the entry before, have the value.
struct TableStep {
  int64_t at_most;
  int64_t value;
};

struct Operation {
  OperationCode code = OperationCode::kConstant;
  ValueKind kind = ValueKind::kInteger;
  bool of_reals = false;           // whether the operands are reals
  bool of_conditions = false;      // whether they are conditions (kEqual)
  int number = 0;                  // of a parameter; of a predicate; of an item of a permutation
  int items = 0;                   // of a permutation, for kPosition
  std::vector<int> operands{};     // numbers of operations
  std::vector<TableStep> steps{};  // of kSteps, ascending; the last one is for all integers
};

// Value of an operation for known operands; values[] is indexed by number of operation. Predicates
// are not for this function.
void EvaluatePoint(const Operation& operation, const Bounds* values, Bounds& result);

// Bounds of an operation for bounds of its operands; exact if they are points.
void EvaluateBounds(const Operation& operation, const Bounds* values, Bounds& result);

}  // namespace mdh
