#include "codegen/index.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mdh {

Index::Index(int64_t constant)
    : node_(std::make_shared<Node>(Node{Kind::kConstant, constant, "", nullptr, nullptr})) {}

Index Index::Variable(std::string name) {
  return Index(std::make_shared<Node>(Node{Kind::kVariable, 0, std::move(name), nullptr, nullptr}));
}

Index Index::Make(Kind kind, const Index& a, const Index& b) {
  return Index(std::make_shared<Node>(Node{kind, 0, "", a.node_, b.node_}));
}

bool Index::is_constant() const { return node_->kind == Kind::kConstant; }
int64_t Index::constant() const { return node_->constant; }
bool Index::IsVariable() const { return node_->kind == Kind::kVariable; }

Index operator+(const Index& a, const Index& b) {
  if (a.IsZero()) return b;
  if (b.IsZero()) return a;
  if (a.is_constant() && b.is_constant()) return Index(a.constant() + b.constant());
  if (a.is_constant()) return b + a;  // constants last
  if (b.is_constant()) {              // behind another constant: one constant
    const Index::Node& node = *a.node_;
    const bool is_sum = node.kind == Index::Kind::kAdd || node.kind == Index::Kind::kSub;
    if (is_sum && node.b->kind == Index::Kind::kConstant) {
      const int64_t before = node.kind == Index::Kind::kAdd ? node.b->constant : -node.b->constant;
      return Index(node.a) + Index(before + b.constant());
    }
  }
  if (b.is_constant() && b.constant() < 0) return a - Index(-b.constant());
  return Index::Make(Index::Kind::kAdd, a, b);
}

Index operator-(const Index& a, const Index& b) {
  if (b.IsZero()) return a;
  if (a.is_constant() && b.is_constant()) return Index(a.constant() - b.constant());
  if (a == b) return Index(0);
  if (b.is_constant() &&
      (a.node_->kind == Index::Kind::kAdd || a.node_->kind == Index::Kind::kSub) &&
      a.node_->b->kind == Index::Kind::kConstant) {
    return a + Index(-b.constant());
  }
  return Index::Make(Index::Kind::kSub, a, b);
}

Index operator*(const Index& a, int64_t factor) {
  if (factor == 0) return Index(0);
  if (factor == 1) return a;
  if (a.is_constant()) return Index(a.constant() * factor);
  return Index::Make(Index::Kind::kMul, a, Index(factor));
}

Index operator/(const Index& a, int64_t divisor) {
  if (divisor == 1) return a;
  if (a.is_constant()) return Index(a.constant() / divisor);
  return Index::Make(Index::Kind::kDiv, a, Index(divisor));
}

Index operator%(const Index& a, int64_t divisor) {
  if (divisor == 1) return Index(0);
  if (a.is_constant()) return Index(a.constant() % divisor);
  return Index::Make(Index::Kind::kMod, a, Index(divisor));
}

Index Min(const Index& a, const Index& b) {
  if (a.is_constant() && b.is_constant()) return Index(std::min(a.constant(), b.constant()));
  if (a == b) return a;
  return Index::Make(Index::Kind::kMin, a, b);
}

std::string Index::Print(const Node& node, int precedence) {
  auto binary = [&](int own, absl::string_view spelling, int right) {
    std::string text = absl::StrCat(Print(*node.a, own), " ", spelling, " ", Print(*node.b, right));
    return own < precedence ? absl::StrCat("(", text, ")") : text;
  };
  switch (node.kind) {
    case Kind::kConstant:
      return node.constant < 0 && precedence > 0 ? absl::StrCat("(", node.constant, ")")
                                                 : absl::StrCat(node.constant);
    case Kind::kVariable:
      return node.name;
    case Kind::kAdd:
      return binary(1, "+", 1);
    case Kind::kSub:
      return binary(1, "-", 2);
    case Kind::kMul:
      return binary(2, "*", 3);
    case Kind::kDiv:
      return binary(2, "/", 3);
    case Kind::kMod:
      return binary(2, "%", 3);
    case Kind::kMin:
      return absl::StrCat("mdh_min(", Print(*node.a, 0), ", ", Print(*node.b, 0), ")");
  }
  return "";
}

std::string Index::ToString() const { return Print(*node_, 0); }

}  // namespace mdh
