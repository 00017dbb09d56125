// Symbolic 64-bit index arithmetic of loop programs: bounds, origins, offsets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

namespace mdh {

struct IndexSum;

// Immutable value. Constructors fold constants, so printed code has no `0 + i * 1`. No overflow is
// checked here: Expression::Create has bounded every offset.
class Index {
 public:
  Index(int64_t constant);  // NOLINT: an integer is an index
  static Index Variable(std::string name);
  // Of `items` items that all threads of a stage share, in contiguous parts: the first of the
  // calling thread's, and the one after its last.
  static Index ShareBegin(int64_t items);
  static Index ShareEnd(int64_t items);

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator-(const Index& a, const Index& b);
  friend Index operator*(const Index& a, int64_t factor);
  friend Index operator/(const Index& a, int64_t divisor);  // of non-negative values
  friend Index operator%(const Index& a, int64_t divisor);  // of non-negative values
  friend Index operator^(const Index& a, const Index& b);   // of non-negative values
  friend Index Min(const Index& a, const Index& b);

  bool is_constant() const;
  int64_t constant() const;                                 // only if is_constant()
  int64_t shared_items() const { return node_->constant; }  // only of a share's bound
  bool IsZero() const { return is_constant() && constant() == 0; }
  bool IsVariable() const;
  bool IsLeaf() const { return node_->a == nullptr; }  // a constant, a variable or a share's bound

  // As C. `mdh_min` and `mdh_share` are functions of the generated prelude.
  std::string ToString() const;

  // The same form, up to parentheses in sums: a + (b + c) and a + b + c are equal, a + b and b + a
  // are not. Prints nothing.
  friend bool operator==(const Index& a, const Index& b);

  // ---- Taken apart ----

  enum class Kind {
    kConstant,
    kVariable,
    kShareBegin,
    kShareEnd,
    kAdd,
    kSub,
    kMul,
    kDiv,
    kMod,
    kXor,
    kMin
  };
  Kind kind() const { return node_->kind; }
  const std::string& name() const { return node_->name; }  // only if IsVariable()
  // Operands of kAdd .. kMin. The right one of kMul, kDiv and kMod is a constant.
  Index left() const { return Index(node_->a); }
  Index right() const { return Index(node_->b); }

  // As a sum, factors distributed over the terms of sums.
  IndexSum Sum() const;
  // Calls `visit` with every variable, as often as it occurs.
  void VisitVariables(absl::FunctionRef<void(const std::string&)> visit) const;
  bool Uses(const std::string& variable) const;
  // Every variable replaced by what `replacement` gives for it; nullopt: left as it is. The result
  // shares what has not changed, and is folded as by the operators.
  Index Replace(
      absl::FunctionRef<std::optional<Index>(const std::string& variable)> replacement) const;
  Index Replace(const std::string& variable, const Index& replacement) const;
  // Whether both are the same object: a quick test for "nothing changed".
  bool IsSame(const Index& other) const { return node_ == other.node_; }

 private:
  struct Node {
    Kind kind;
    int64_t constant;
    std::string name;
    std::shared_ptr<const Node> a, b;
  };
  explicit Index(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Index Make(Kind kind, const Index& a, const Index& b);
  static void Print(const Node& node, int precedence, std::string& out);
  static bool SameForm(const Node& a, const Node& b);
  static void AppendSummands(const Node& node, std::vector<const Node*>& summands);
  std::shared_ptr<const Node> node_;
};

// coefficient * factor; the factor is a variable, quotient, remainder or minimum.
struct IndexTerm {
  Index factor;
  int64_t coefficient;
};

// The sum of all terms and the constant. No two factors are equal and no coefficient is 0; terms
// come in the order in which the index had them.
struct IndexSum {
  std::vector<IndexTerm> terms;
  int64_t constant = 0;

  void Add(const Index& factor, int64_t coefficient);
  Index ToIndex() const;
};

// a - b where that is the same number whatever the values of the variables.
std::optional<int64_t> ConstantDifference(const Index& a, const Index& b);

// ---- Conditions ----

struct Condition {
  enum class Kind { kLess, kEqual, kFlag, kNotFlag };
  Kind kind;
  Index a, b;        // kLess, kEqual
  std::string flag;  // kFlag, kNotFlag: an int variable
};
inline Condition Less(Index a, Index b) {
  return {Condition::Kind::kLess, std::move(a), std::move(b), ""};
}
inline Condition Equal(Index a, Index b) {
  return {Condition::Kind::kEqual, std::move(a), std::move(b), ""};
}
inline Condition IsZero(Index a) { return Equal(std::move(a), Index(0)); }

}  // namespace mdh
