// Formulas over tuning parameters: constraints (ATF) as trees that can be read, not as opaque
// callables. Also launch geometry and whatever else is computed from a configuration.
//
// Values are those of Python 3, which is also the text form (formula_text.h): integers are exact,
// `/` gives a real, `//` and `%` round towards minus infinity, `and` and `or` decide from left to
// right. Where Python's integers would leave 64 bits, or a real is not finite, evaluation reports
// overflow. Division by zero and broken powers of negative numbers are undefined, and a constraint
// whose value is undefined is not satisfied.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "tuner/space/formula/value.h"

namespace mdh {

enum class FormulaOp : uint8_t {
  kConstant,
  kParameter,
  kAdd,           // numbers
  kSubtract,      // numbers
  kMultiply,      // numbers
  kDivide,        // numbers -> real
  kFloorDivide,   // numbers
  kRemainder,     // numbers
  kPower,         // numbers; integer ** negative integer is a real
  kNegate,        // number
  kAbsolute,      // number
  kMin,           // 1 or more numbers
  kMax,           // 1 or more numbers
  kCeilDivide,    // integers
  kDivides,       // divides(a, b): integers, b % a == 0
  kEqual,         // two values of one type, or two numbers
  kNotEqual,      // idem
  kLess,          // numbers or strings
  kLessEqual,     // idem
  kGreater,       // idem
  kGreaterEqual,  // idem
  kAnd,           // 2 or more bools
  kOr,            // idem
  kNot,           // bool
  kIf,            // condition, then, else
  kPosition,      // permutation, string constant -> integer: zero-based place of the item
  kPredicate,     // opaque; operands are the parameters that it looks at -> bool
};

// A user's own condition on the codes (range.h) of its operands, in their order. Must be pure; it
// may be called from several threads.
struct Predicate {
  std::string text;  // for messages
  std::function<bool(absl::Span<const int64_t> codes)> holds;
};

// What CheckFormula and ParseFormula accept.
inline constexpr int64_t kMaxFormulaSize = int64_t{1} << 20;
inline constexpr int kMaxFormulaDepth = 1000;

// Immutable tree, cheap to copy. Building never fails; types are checked where parameters are known
// (CheckFormula).
class Formula {
 public:
  Formula(bool value) : Formula(Value(value)) {}  // NOLINT: literals
  template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Formula(T value)
      : Formula(Value(static_cast<int64_t>(value))) {}              // NOLINT
  Formula(double value) : Formula(Value(value)) {}                  // NOLINT
  Formula(const char* text) : Formula(Value(std::string(text))) {}  // NOLINT: string constants
  Formula(std::string text) : Formula(Value(std::move(text))) {}    // NOLINT
  explicit Formula(Value value);
  static Formula Parameter(std::string name);
  static Formula Of(Predicate predicate, const std::vector<std::string>& parameters);
  // Expects as many operands as the operation takes.
  Formula(FormulaOp op, std::vector<Formula> operands);

  FormulaOp op() const { return node_->op; }
  const std::vector<Formula>& operands() const { return node_->operands; }
  const std::string& parameter() const { return node_->parameter; }  // of kParameter
  const Value& constant() const { return node_->constant; }          // of kConstant
  const Predicate& predicate() const { return node_->predicate; }    // of kPredicate

  // Operations, constants and parameters of the tree, and its height; parts that occur several
  // times count each time. Sizes end at kMaxFormulaSize + 1.
  int64_t size() const { return node_->size; }
  int depth() const { return node_->depth; }
  // The same for copies of one formula, so that shared parts can be told from equal ones.
  const void* identity() const { return node_.get(); }

  // Names in the order of their first appearance.
  std::vector<std::string> Parameters() const;
  // Fewest parentheses; reads back with ParseFormula to the same tree, but for predicates.
  std::string ToText() const;

  // Found through its operands alone: codegen has a statement of this name.
  friend Formula If(Formula condition, Formula then, Formula otherwise);

 private:
  struct Node {
    FormulaOp op;
    std::vector<Formula> operands = {};
    std::string parameter = {};
    Value constant = {};
    Predicate predicate = {};
    int64_t size = 1;
    int depth = 1;
  };
  explicit Formula(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

// Structural equality; predicates are equal if their texts and operands are.
bool IsSame(const Formula& a, const Formula& b);

// C++ spelling of the operations. `==` and the like build formulas, they do not compare.
Formula operator+(Formula a, Formula b);
Formula operator-(Formula a, Formula b);
Formula operator*(Formula a, Formula b);
Formula operator/(Formula a, Formula b);  // true division, as in the text form
Formula operator%(Formula a, Formula b);
Formula operator-(Formula a);
Formula operator==(Formula a, Formula b);
Formula operator!=(Formula a, Formula b);
Formula operator<(Formula a, Formula b);
Formula operator<=(Formula a, Formula b);
Formula operator>(Formula a, Formula b);
Formula operator>=(Formula a, Formula b);
// Both sides are built; evaluation decides from left to right. Conjunctions on the left side go on:
// a && b && c has three operands. AllOf is faster for many.
Formula operator&&(Formula a, Formula b);
Formula operator||(Formula a, Formula b);
Formula operator!(Formula a);
Formula Min(std::vector<Formula> values);
Formula Max(std::vector<Formula> values);
Formula Absolute(Formula a);
Formula Power(Formula base, Formula exponent);
Formula FloorDivide(Formula a, Formula b);
Formula CeilDivide(Formula a, Formula b);
Formula Divides(Formula divisor, Formula dividend);
Formula PositionIn(Formula permutation, std::string item);
Formula AllOf(std::vector<Formula> conditions);        // true if there are none
Formula AnyOf(std::vector<Formula> conditions);        // false if there are none
Formula Product(const std::vector<Formula>& factors);  // 1 if there are none
Formula Sum(const std::vector<Formula>& terms);        // 0 if there are none

struct TuningParameter;

// The type of a formula. A real may also have an integer as its value, as in Python: min(1, 2.5),
// or a power whose exponent can be negative. Errors: InvalidArgument for an unknown parameter (with
// the nearest name), operands of a wrong type, naming the part of the formula, and formulas beyond
// the limits.
Result<ValueType> CheckFormula(const Formula& formula,
                               absl::Span<const TuningParameter> parameters);

// The value for one configuration, codes in the order of `parameters`. Expects a formula that
// CheckFormula accepts. Errors: InvalidArgument for division by zero, OutOfRange for overflow.
Result<Value> Evaluate(const Formula& formula, absl::Span<const TuningParameter> parameters,
                       absl::Span<const int64_t> configuration);

// What a configuration must satisfy.
struct Constraint {
  Constraint(Formula holds) : formula(std::move(holds)) {}  // NOLINT: a formula is a constraint
  Constraint(std::string constraint_name, Formula holds)
      : name(std::move(constraint_name)), formula(std::move(holds)) {}
  // What messages call it; empty: its text.
  std::string name;
  Formula formula;  // of type bool
};

}  // namespace mdh
