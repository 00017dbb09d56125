// Symbolic 64-bit index arithmetic of loop programs: bounds, origins, offsets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace mdh {

// Immutable value. Constructors fold constants, so printed code has no `0 + i * 1`. No overflow is
// checked here: Expression::Create has bounded every offset.
class Index {
 public:
  Index(int64_t constant);  // NOLINT: an integer is an index
  static Index Variable(std::string name);

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator-(const Index& a, const Index& b);
  friend Index operator*(const Index& a, int64_t factor);
  friend Index operator/(const Index& a, int64_t divisor);  // of non-negative values
  friend Index operator%(const Index& a, int64_t divisor);  // of non-negative values
  friend Index Min(const Index& a, const Index& b);

  bool is_constant() const;
  int64_t constant() const;  // only if is_constant()
  bool IsZero() const { return is_constant() && constant() == 0; }
  bool IsVariable() const;

  // As C. `mdh_min` is a function of the generated prelude.
  std::string ToString() const;

  friend bool operator==(const Index& a, const Index& b) { return a.ToString() == b.ToString(); }

 private:
  enum class Kind { kConstant, kVariable, kAdd, kSub, kMul, kDiv, kMod, kMin };
  struct Node {
    Kind kind;
    int64_t constant;
    std::string name;
    std::shared_ptr<const Node> a, b;
  };
  explicit Index(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Index Make(Kind kind, const Index& a, const Index& b);
  static std::string Print(const Node& node, int precedence);
  std::shared_ptr<const Node> node_;
};

}  // namespace mdh
