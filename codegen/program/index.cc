#include "codegen/program/index.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mdh {

Index::Index(int64_t constant)
    : node_(std::make_shared<Node>(Node{Kind::kConstant, constant, "", nullptr, nullptr})) {}

Index Index::Variable(std::string name) {
  return Index(std::make_shared<Node>(Node{Kind::kVariable, 0, std::move(name), nullptr, nullptr}));
}

Index Index::ShareBegin(int64_t items) {
  return Index(std::make_shared<Node>(Node{Kind::kShareBegin, items, "", nullptr, nullptr}));
}

Index Index::ShareEnd(int64_t items) {
  return Index(std::make_shared<Node>(Node{Kind::kShareEnd, items, "", nullptr, nullptr}));
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

Index operator^(const Index& a, const Index& b) {
  if (a.IsZero()) return b;
  if (b.IsZero()) return a;
  if (a.is_constant() && b.is_constant()) return Index(a.constant() ^ b.constant());
  return Index::Make(Index::Kind::kXor, a, b);
}

Index Min(const Index& a, const Index& b) {
  if (a.is_constant() && b.is_constant()) return Index(std::min(a.constant(), b.constant()));
  if (a == b) return a;
  return Index::Make(Index::Kind::kMin, a, b);
}

void Index::Print(const Node& node, int precedence, std::string& out) {
  auto binary = [&](int own, absl::string_view spelling, int right) {
    if (own < precedence) out += '(';
    Print(*node.a, own, out);
    absl::StrAppend(&out, " ", spelling, " ");
    Print(*node.b, right, out);
    if (own < precedence) out += ')';
  };
  switch (node.kind) {
    case Kind::kConstant:
      if (node.constant < 0 && precedence > 0) {
        absl::StrAppend(&out, "(", node.constant, ")");
      } else {
        absl::StrAppend(&out, node.constant);
      }
      return;
    case Kind::kVariable:
      out += node.name;
      return;
    case Kind::kShareBegin:
      absl::StrAppend(&out, "mdh_share(", node.constant, ", thread, threads)");
      return;
    case Kind::kShareEnd:
      absl::StrAppend(&out, "mdh_share(", node.constant, ", thread + 1, threads)");
      return;
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
    case Kind::kXor:  // binds more loosely than a sum
      out += '(';
      Print(*node.a, 1, out);
      out += " ^ ";
      Print(*node.b, 1, out);
      out += ')';
      return;
    case Kind::kMin:
      out += "mdh_min(";
      Print(*node.a, 0, out);
      out += ", ";
      Print(*node.b, 0, out);
      out += ')';
  }
}

std::string Index::ToString() const {
  std::string out;
  Print(*node_, 0, out);
  return out;
}

bool Index::SameForm(const Node& a, const Node& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.constant != b.constant || a.name != b.name) return false;
  if (a.a == nullptr) return true;
  if (a.kind != Kind::kAdd) return SameForm(*a.a, *b.a) && SameForm(*a.b, *b.b);
  std::vector<const Node*> summands_a, summands_b;
  AppendSummands(a, summands_a);
  AppendSummands(b, summands_b);
  return std::ranges::equal(summands_a, summands_b,
                            [](const Node* x, const Node* y) { return SameForm(*x, *y); });
}

void Index::AppendSummands(const Node& node, std::vector<const Node*>& summands) {
  if (node.kind != Kind::kAdd) return summands.push_back(&node);
  AppendSummands(*node.a, summands);
  AppendSummands(*node.b, summands);
}

bool operator==(const Index& a, const Index& b) { return Index::SameForm(*a.node_, *b.node_); }

void Index::VisitVariables(absl::FunctionRef<void(const std::string&)> visit) const {
  if (IsVariable()) return visit(name());
  if (IsLeaf()) return;
  left().VisitVariables(visit);
  right().VisitVariables(visit);
}

bool Index::Uses(const std::string& variable) const {
  bool uses = false;
  VisitVariables([&](const std::string& used) { uses |= used == variable; });
  return uses;
}

Index Index::Replace(
    absl::FunctionRef<std::optional<Index>(const std::string& variable)> replacement) const {
  if (IsVariable()) return replacement(name()).value_or(*this);
  if (IsLeaf()) return *this;
  const Index a = left().Replace(replacement);
  const Index b = right().Replace(replacement);
  if (a.IsSame(left()) && b.IsSame(right())) return *this;
  switch (kind()) {
    case Kind::kAdd:
      return a + b;
    case Kind::kSub:
      return a - b;
    case Kind::kMul:
      return a * b.constant();
    case Kind::kDiv:
      return a / b.constant();
    case Kind::kMod:
      return a % b.constant();
    case Kind::kXor:
      return a ^ b;
    default:
      return Min(a, b);
  }
}

Index Index::Replace(const std::string& variable, const Index& replacement) const {
  return Replace([&](const std::string& used) -> std::optional<Index> {
    if (used == variable) return replacement;
    return std::nullopt;
  });
}

namespace {

void AddTerms(const Index& index, int64_t factor, IndexSum& sum) {
  switch (index.kind()) {
    case Index::Kind::kConstant:
      sum.constant += factor * index.constant();
      return;
    case Index::Kind::kAdd:
    case Index::Kind::kSub:
      AddTerms(index.left(), factor, sum);
      AddTerms(index.right(), index.kind() == Index::Kind::kAdd ? factor : -factor, sum);
      return;
    case Index::Kind::kMul:
      return AddTerms(index.left(), factor * index.right().constant(), sum);
    default:
      return sum.Add(index, factor);
  }
}

}  // namespace

IndexSum Index::Sum() const {
  IndexSum sum;
  AddTerms(*this, 1, sum);
  return sum;
}

void IndexSum::Add(const Index& factor, int64_t coefficient) {
  if (coefficient == 0) return;
  for (auto term = terms.begin(); term != terms.end(); ++term) {
    if (!(term->factor == factor)) continue;
    term->coefficient += coefficient;
    if (term->coefficient == 0) terms.erase(term);
    return;
  }
  terms.push_back({factor, coefficient});
}

Index IndexSum::ToIndex() const {
  Index sum(0);
  for (const IndexTerm& term : terms) {
    sum = term.coefficient < 0 && !sum.IsZero() ? sum - term.factor * -term.coefficient
                                                : sum + term.factor * term.coefficient;
  }
  return sum + Index(constant);
}

std::optional<int64_t> ConstantDifference(const Index& a, const Index& b) {
  if (a.is_constant() && b.is_constant()) return a.constant() - b.constant();
  const IndexSum difference = (a - b).Sum();
  if (!difference.terms.empty()) return std::nullopt;
  return difference.constant;
}

}  // namespace mdh
