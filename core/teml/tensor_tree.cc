#include "core/teml/tensor_tree.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

using Kind = TensorNode::Kind;

void AppendNew(const std::vector<std::string>& names, std::vector<std::string>* all) {
  for (const std::string& name : names) {
    if (std::ranges::find(*all, name) == all->end()) all->push_back(name);
  }
}

std::string NewName(const std::map<std::string, std::string>& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

std::vector<std::string> NewNames(const std::map<std::string, std::string>& names,
                                  std::vector<std::string> old) {
  for (std::string& name : old) name = NewName(names, name);
  return old;
}

// Binding strength of what the tree is printed as: a leaf or call 3, a product 2, a sum 1.
int StrengthOf(const TensorNode& node) {
  if (node.kind != Kind::kOperation || node.operation->symbol.empty()) return 3;
  if (node.operation->is_unary) return 2;
  return node.operation->symbol == "+" || node.operation->symbol == "-" ? 1 : 2;
}

std::string InParentheses(const TensorTree& tree, bool needs_them) {
  return needs_them ? absl::StrCat("(", ToText(tree), ")") : ToText(tree);
}

std::string OperationText(const TensorNode& node) {
  const absl::string_view symbol = node.operation->symbol;
  if (symbol.empty()) {
    // min and max of several operands are those of two, from the left.
    std::string text = ToText(node.children[0]);
    if (node.operation->is_unary) return absl::StrCat(node.operation->name, "(", text, ")");
    for (size_t n = 1; n < node.children.size(); ++n) {
      text = absl::StrCat(node.operation->name, "(", text, ", ", ToText(node.children[n]), ")");
    }
    return text;
  }
  const int strength = StrengthOf(node);
  if (node.operation->is_unary) {
    return absl::StrCat(symbol, InParentheses(node.children[0], StrengthOf(*node.children[0]) < 3));
  }
  std::string text = InParentheses(node.children[0], StrengthOf(*node.children[0]) < strength);
  for (size_t n = 1; n < node.children.size(); ++n) {
    absl::StrAppend(&text, " ", symbol, " ",
                    InParentheses(node.children[n], StrengthOf(*node.children[n]) <= strength));
  }
  return text;
}

// Whether sums may be moved out of operand `n`.
bool Distributes(const TensorNode& node, size_t n) {
  if (node.kind != Kind::kOperation) return false;
  if (node.operation->op == ScalarOp::kDiv) return n == 0 && IsFloatingPoint(node.type);
  return node.operation->op == ScalarOp::kMul || node.operation->op == ScalarOp::kNeg;
}

}  // namespace

TensorTree MakeAccess(const Token& token, TensorPointer tensor, IteratorList indices) {
  TensorNode node{Kind::kAccess, token, tensor->type, tensor, std::move(indices)};
  for (const IteratorIndex& index : node.indices) {
    for (const IteratorTerm& term : index.terms) AppendNew({term.iterator}, &node.dimensions);
    node.nodes += 1 + static_cast<int>(index.terms.size());
  }
  return std::make_shared<const TensorNode>(std::move(node));
}

TensorTree MakeOperation(const Token& token, const TemlOperation* operation,
                         std::vector<TensorTree> children) {
  TensorNode node{.kind = Kind::kOperation, .token = token, .type = children[0]->type};
  node.operation = operation;
  for (const TensorTree& child : children) {
    AppendNew(child->dimensions, &node.dimensions);
    node.nodes += child->nodes;
  }
  node.children = std::move(children);
  return std::make_shared<const TensorNode>(std::move(node));
}

TensorTree MakeSum(const Token& token, std::vector<std::string> bound, TensorTree child) {
  if (bound.empty()) return child;
  TensorNode node{.kind = Kind::kSum, .token = token, .type = child->type};
  for (const std::string& name : child->dimensions) {
    if (std::ranges::find(bound, name) == bound.end()) node.dimensions.push_back(name);
  }
  node.nodes = child->nodes + 1;
  node.bound = std::move(bound);
  node.children = {std::move(child)};
  return std::make_shared<const TensorNode>(std::move(node));
}

TensorTree WithDimensions(const TensorTree& tree, std::vector<std::string> dimensions) {
  TensorNode node = *tree;
  node.dimensions = std::move(dimensions);
  return std::make_shared<const TensorNode>(std::move(node));
}

TensorTree Renamed(const TensorTree& tree, const std::map<std::string, std::string>& names) {
  TensorNode node = *tree;
  node.bound = NewNames(names, std::move(node.bound));
  node.dimensions = NewNames(names, std::move(node.dimensions));
  for (IteratorIndex& index : node.indices) {
    for (IteratorTerm& term : index.terms) term.iterator = NewName(names, term.iterator);
  }
  for (TensorTree& child : node.children) child = Renamed(child, names);
  return std::make_shared<const TensorNode>(std::move(node));
}

std::vector<const TensorNode*> AccessesOf(const TensorTree& tree) {
  if (tree->kind == Kind::kAccess) return {tree.get()};
  std::vector<const TensorNode*> accesses;
  for (const TensorTree& child : tree->children) {
    const std::vector<const TensorNode*> own = AccessesOf(child);
    accesses.insert(accesses.end(), own.begin(), own.end());
  }
  return accesses;
}

std::string NameSupply::Fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int n = 2; !taken_.insert(name).second; ++n) name = absl::StrCat(wanted, n);
  return name;
}

SumForm ToSumForm(const TensorTree& tree, NameSupply* names) {
  if (tree->kind == Kind::kSum) {
    SumForm form = ToSumForm(tree->children[0], names);
    form.bound.insert(form.bound.begin(), tree->bound.begin(), tree->bound.end());
    return form;
  }
  SumForm form{{}, tree};
  std::vector<TensorTree> children = tree->children;
  for (size_t n = 0; n < children.size(); ++n) {
    if (!Distributes(*tree, n)) continue;
    SumForm inner = ToSumForm(children[n], names);
    for (std::string& bound : inner.bound) {
      if (std::ranges::find(form.bound, bound) != form.bound.end()) {
        // One sum twice: (sum_k a[k]) * (sum_k a[k]).
        const std::string other = names->Fresh(bound);
        inner.terms = Renamed(inner.terms, {{bound, other}});
        bound = other;
      }
    }
    form.bound.insert(form.bound.end(), inner.bound.begin(), inner.bound.end());
    children[n] = std::move(inner.terms);
  }
  if (!form.bound.empty()) {
    form.terms = MakeOperation(tree->token, tree->operation, std::move(children));
  }
  return form;
}

std::string ToText(const TensorTree& tree) {
  switch (tree->kind) {
    case Kind::kAccess:
      return absl::StrCat(tree->tensor->name, ToSubscripts(tree->indices));
    case Kind::kOperation:
      return OperationText(*tree);
    case Kind::kSum:
      return absl::StrCat("sum(", absl::StrJoin(tree->bound, ", "), ": ", ToText(tree->children[0]),
                          ")");
  }
  return "";
}

}  // namespace mdh
