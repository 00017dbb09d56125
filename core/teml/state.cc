#include "core/teml/state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/teml/iterator_ranges.h"

namespace mdh {
namespace {

// i1, i2, ...: what the paper calls the iterators of an operation that hides them.
std::vector<std::string> NumberedIterators(size_t first, size_t count) {
  std::vector<std::string> iterators;
  for (size_t n = 0; n < count; ++n) iterators.push_back(absl::StrCat("i", first + n));
  return iterators;
}

IteratorList PlainList(const std::vector<std::string>& iterators) {
  IteratorList list;
  for (const std::string& iterator : iterators) list.push_back(IteratorIndex::Of(iterator));
  return list;
}

std::string BracketedShape(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace

std::string TensorEvaluator::TargetName() const {
  return std::string(statement_->target.value_or(statement_->name).text);
}

Result<StateValue> TensorEvaluator::Evaluate(const AssignmentSyntax& statement) {
  statement_ = &statement;
  nodes_ = 0;
  return std::visit(
      Overloaded{
          [&](const TensorSyntax& tensor) { return EvaluateTensor(tensor); },
          [&](const EqSyntax& eq) { return EvaluateEq(eq); },
          [&](const OperationSyntax& operation) { return EvaluateOperation(operation); },
          [&](const EntrywiseSyntax& entrywise) { return EvaluateEntrywise(entrywise); },
          [&](const TransposeSyntax& transpose) { return EvaluateTranspose(transpose); },
          [&](const ContractSyntax& contract) { return EvaluateContract(contract); },
          [&](const OuterProductSyntax& product) { return EvaluateOuterProduct(product); },
          [&](const LoopSyntax&) -> Result<StateValue> { return LoopTrees{}; },
      },
      statement.right);
}

// (12), (13)
Result<StateValue> TensorEvaluator::EvaluateTensor(const TensorSyntax& tensor) const {
  const auto known = declared_.find(TargetName());
  if (known != declared_.end()) {
    return text_.ErrorAt(statement_->name, "'", TargetName(), "' is a tensor already, of ",
                         text_.LineOf(known->second->declared),
                         "; tensors of the target program have one shape");
  }
  return std::make_shared<const RealTensor>(
      RealTensor{TargetName(), tensor.type, tensor.shape, tensor.is_scalar, statement_->name});
}

Result<StateValue> TensorEvaluator::Operand(const Token& name, absl::string_view rule) const {
  const auto found = state_.find(name.text);
  if (found == state_.end()) {
    return text_.ErrorAt(name, "nothing is called '", name.text, "', which ", rule,
                         " looks up; write ", name.text, " = tensor([...]) before");
  }
  if (std::holds_alternative<LoopTrees>(found->second)) {
    return text_.ErrorAt(name, "'", name.text, "' is a loop nest, but ", rule, " takes tensors");
  }
  if (const auto* const assignment = std::get_if<AssignmentPointer>(&found->second)) {
    return StateValue((*assignment)->target);
  }
  return found->second;
}

Result<TensorTree> TensorEvaluator::Indexed(const Token& name,
                                            const std::optional<IteratorsSyntax>& list,
                                            absl::string_view rule) const {
  MDH_ASSIGN_OR_RETURN(const StateValue operand, Operand(name, rule));
  if (const auto* const tree = std::get_if<TensorTree>(&operand)) {
    if (!list.has_value()) return *tree;
    return text_.ErrorAt(list->token, "'", name.text, "' is virtual and has its iterators, ",
                         absl::StrJoin((*tree)->dimensions, ", "), ", so that it takes no list (",
                         rule, ": the list is left out where I' is set); leave it out");
  }
  const TensorPointer& tensor = std::get<TensorPointer>(operand);
  if (tensor->is_scalar) {
    if (!list.has_value()) return MakeAccess(name, tensor, {});
    return text_.ErrorAt(list->token, "'", name.text,
                         "' is a scalar, which no "
                         "iterators index (12); leave the list out");
  }
  if (!list.has_value()) {
    return text_.ErrorAt(name, "'", name.text, "' has no iterators yet, so that ", rule,
                         " needs a list for it, with one index for each "
                         "dimension: it has ",
                         tensor->shape.size());
  }
  if (list->indices.size() != tensor->shape.size()) {
    return text_.ErrorAt(list->token, rule, " needs one index for each dimension: '", name.text,
                         "' has ", tensor->shape.size(), ", the list has ", list->indices.size());
  }
  return MakeAccess(name, tensor, list->indices);
}

Status TensorEvaluator::TooLarge() const {
  return text_.ErrorAt(statement_->function, "the expression has more than ", TensorNode::kMaxNodes,
                       " nodes; store a part of it in a tensor");
}

Result<TensorTree> TensorEvaluator::Combined(const TemlOperation* operation,
                                             std::vector<TensorTree> children,
                                             absl::string_view rule) const {
  int nodes = 1;
  for (const TensorTree& child : children) {
    nodes += child->nodes;
    if (nodes > TensorNode::kMaxNodes) return TooLarge();
    if (child->type == children[0]->type) continue;
    return text_.ErrorAt(child->token, "operands of ", rule, " hold ", Name(children[0]->type),
                         " and ", Name(child->type),
                         ": all tensors of an expression have one type (Section 2)");
  }
  std::vector<ScalarType> types(operation->is_unary ? 1 : 2, children[0]->type);
  if (const Result<ScalarType> type = ResultType(operation->op, types); !type.ok()) {
    return text_.ErrorAt(statement_->function, type.status().message());
  }
  return MakeOperation(statement_->function, operation, std::move(children));
}

// The assignment of (14).
Result<StateValue> TensorEvaluator::Assigned(const TensorTree& value, const Token& token,
                                             IteratorList indices) {
  const auto known = declared_.find(TargetName());
  TargetSyntax target{TargetName(), known == declared_.end() ? nullptr : known->second, token,
                      std::move(indices)};
  MDH_ASSIGN_OR_RETURN(TensorAssignment assignment,
                       MakeAssignment(statement_->name, std::move(target), value, &names_, text_));
  return std::make_shared<const TensorAssignment>(std::move(assignment));
}

// (14)
Result<StateValue> TensorEvaluator::EvaluateEq(const EqSyntax& eq) {
  MDH_ASSIGN_OR_RETURN(const TensorTree value, Indexed(eq.operand, eq.from, "eq (14)"));
  return Assigned(value, eq.to.token, eq.to.indices);
}

// (15), (16)
Result<StateValue> TensorEvaluator::EvaluateOperation(const OperationSyntax& operation) {
  const std::string rule =
      absl::StrCat(statement_->function.text, operation.to.has_value() ? " (16)" : " (15)");
  std::vector<TensorTree> children;
  for (size_t n = 0; n < operation.operands.size(); ++n) {
    MDH_ASSIGN_OR_RETURN(children.emplace_back(),
                         Indexed(operation.operands[n], operation.lists[n], rule));
  }
  std::vector<IteratorUse> uses;
  MDH_ASSIGN_OR_RETURN(const TensorTree value,
                       Combined(operation.operation, std::move(children), rule));
  if (operation.to.has_value()) return Assigned(value, operation.to->token, operation.to->indices);
  for (const TensorNode* access : AccessesOf(value)) {
    AppendUses(*access, /*is_target=*/false, &uses);
  }
  MDH_RETURN_IF_ERROR(InferRanges(uses, text_).status());
  return value;
}

Result<TensorEvaluator::Shape> TensorEvaluator::ShapeOf(const Token& name, absl::string_view rule) {
  MDH_ASSIGN_OR_RETURN(const StateValue operand, Operand(name, rule));
  const auto* const tree = std::get_if<TensorTree>(&operand);
  if (tree == nullptr) return std::get<TensorPointer>(operand)->shape;
  // Who asks for the shape copies the tree.
  nodes_ += (*tree)->nodes;
  if (nodes_ > 2 * TensorNode::kMaxNodes) return TooLarge();
  std::vector<IteratorUse> uses;
  for (const TensorNode* access : AccessesOf(*tree)) {
    AppendUses(*access, /*is_target=*/false, &uses);
  }
  MDH_ASSIGN_OR_RETURN(const auto ranges, InferRanges(uses, text_));
  Shape shape;
  for (const std::string& iterator : (*tree)->dimensions) {
    const auto range = ranges.find(iterator);
    if (range == ranges.end()) {
      return text_.ErrorAt(name, "the extent of '", name.text, "' along '", iterator,
                           "' does not follow, which ", rule,
                           " needs; assign it to a declared tensor first");
    }
    shape.push_back(range->second);
  }
  return shape;
}

Result<TensorTree> TensorEvaluator::WithIterators(const Token& name, const Iterators& iterators,
                                                  absl::string_view rule) const {
  MDH_ASSIGN_OR_RETURN(const StateValue operand, Operand(name, rule));
  const auto* const tree = std::get_if<TensorTree>(&operand);
  if (tree == nullptr) {
    return MakeAccess(name, std::get<TensorPointer>(operand), PlainList(iterators));
  }
  std::map<std::string, std::string> names;
  for (size_t d = 0; d < iterators.size(); ++d) names.emplace((*tree)->dimensions[d], iterators[d]);
  return Renamed(*tree, names);
}

// (30), (31)
Result<StateValue> TensorEvaluator::EvaluateEntrywise(const EntrywiseSyntax& entrywise) {
  const std::string rule =
      absl::StrCat(statement_->function.text, entrywise.is_virtual ? " (30)" : " (31)");
  MDH_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(entrywise.operands[0], rule));
  const Iterators iterators = NumberedIterators(1, shape.size());
  std::vector<TensorTree> children;
  for (const Token& operand : entrywise.operands) {
    MDH_ASSIGN_OR_RETURN(const Shape other, ShapeOf(operand, rule));
    if (other != shape) {
      return text_.ErrorAt(
          operand, rule, " needs operands of one shape, but '", entrywise.operands[0].text,
          "' has ", BracketedShape(shape), " and '", operand.text, "' has ", BracketedShape(other),
          "; say with lists of iterators what belongs together: ", entrywise.is_virtual ? "v" : "",
          entrywise.operation->name, "(t, u, [[...], [...]]",
          entrywise.is_virtual ? ")" : " -> [...])");
    }
    MDH_ASSIGN_OR_RETURN(children.emplace_back(), WithIterators(operand, iterators, rule));
  }
  MDH_ASSIGN_OR_RETURN(const TensorTree value,
                       Combined(entrywise.operation, std::move(children), rule));
  if (entrywise.is_virtual) return WithDimensions(value, iterators);
  return Assigned(value, statement_->function, PlainList(iterators));
}

Status TensorEvaluator::CheckLevel(const NumberSyntax& number, size_t dimensions,
                                   absl::string_view rule) const {
  if (number.value >= 1 && number.value <= static_cast<int64_t>(dimensions)) {
    return absl::OkStatus();
  }
  return text_.ErrorAt(number.token, rule, ": there is no dimension ", number.value,
                       "; dimensions count from 1 to ", dimensions);
}

// (32)
Result<StateValue> TensorEvaluator::EvaluateTranspose(const TransposeSyntax& transpose) {
  const std::string rule = absl::StrCat(statement_->function.text, " (32)");
  MDH_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(transpose.operand, rule));
  const Iterators iterators = NumberedIterators(1, shape.size());
  Iterators swapped = iterators;
  for (const PairSyntax& pair : transpose.pairs) {
    MDH_RETURN_IF_ERROR(CheckLevel(pair.first, shape.size(), rule));
    MDH_RETURN_IF_ERROR(CheckLevel(pair.second, shape.size(), rule));
    std::swap(swapped[pair.first.value - 1], swapped[pair.second.value - 1]);
  }
  if (!transpose.is_virtual) {
    MDH_ASSIGN_OR_RETURN(const TensorTree value, WithIterators(transpose.operand, iterators, rule));
    return Assigned(value, statement_->function, PlainList(swapped));
  }
  // The same with i1, i2, ... for the iterators of the result.
  Iterators own(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto from = std::ranges::find(iterators, swapped[d]);
    own[from - iterators.begin()] = iterators[d];
  }
  MDH_ASSIGN_OR_RETURN(const TensorTree value, WithIterators(transpose.operand, own, rule));
  return WithDimensions(value, iterators);
}

// (33)
Result<StateValue> TensorEvaluator::EvaluateContract(const ContractSyntax& contract) {
  const std::string rule = absl::StrCat(statement_->function.text, " (33)");
  MDH_ASSIGN_OR_RETURN(const Shape left, ShapeOf(contract.left, rule));
  MDH_ASSIGN_OR_RETURN(const Shape right, ShapeOf(contract.right, rule));
  Iterators of_left(left.size()), of_right(right.size()), bound, kept;
  for (const PairSyntax& pair : contract.pairs) {
    MDH_RETURN_IF_ERROR(CheckLevel(pair.first, left.size(), rule));
    MDH_RETURN_IF_ERROR(CheckLevel(pair.second, right.size(), rule));
    const size_t l = pair.first.value - 1, r = pair.second.value - 1;
    if (!of_left[l].empty() || !of_right[r].empty()) {
      return text_.ErrorAt(pair.first.token, rule,
                           " contracts a dimension twice; every dimension is "
                           "in one pair at most");
    }
    if (left[l] != right[r]) {
      return text_.ErrorAt(pair.first.token, rule, " needs one extent, but dimension ", l + 1,
                           " of '", contract.left.text, "' has ", left[l], " and dimension ", r + 1,
                           " of '", contract.right.text, "' has ", right[r]);
    }
    of_left[l] = of_right[r] = bound.emplace_back(names_.Fresh("k"));
  }
  for (Iterators* const side : {&of_left, &of_right}) {
    for (std::string& iterator : *side) {
      if (!iterator.empty()) continue;
      iterator = kept.emplace_back(absl::StrCat("i", kept.size() + 1));
    }
  }
  std::vector<TensorTree> factors(2);
  MDH_ASSIGN_OR_RETURN(factors[0], WithIterators(contract.left, of_left, rule));
  MDH_ASSIGN_OR_RETURN(factors[1], WithIterators(contract.right, of_right, rule));
  MDH_ASSIGN_OR_RETURN(const TensorTree product,
                       Combined(OperationNamed("mul"), std::move(factors), rule));
  const TensorTree sum = WithDimensions(MakeSum(statement_->function, bound, product), kept);
  if (contract.is_virtual) return sum;
  // t' = add(t', t2, [I', ] -> I'), where t' has a value already.
  const auto target = declared_.find(TargetName());
  const bool fits = target != declared_.end() && target->second->shape.size() == kept.size() &&
                    target->second->type == sum->type;
  if (!fits) return Assigned(sum, statement_->function, PlainList(kept));
  const TensorTree accumulator = MakeAccess(statement_->function, target->second, PlainList(kept));
  return Assigned(MakeOperation(statement_->function, OperationNamed("add"), {accumulator, sum}),
                  statement_->function, PlainList(kept));
}

// (34), (35)
Result<StateValue> TensorEvaluator::EvaluateOuterProduct(const OuterProductSyntax& product) {
  const std::string rule =
      absl::StrCat(statement_->function.text, product.is_virtual ? " (34)" : " (35)");
  Iterators iterators;
  std::vector<TensorTree> factors;
  for (const Token& operand : product.operands) {
    MDH_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(operand, rule));
    const Iterators own = NumberedIterators(iterators.size() + 1, shape.size());
    iterators.insert(iterators.end(), own.begin(), own.end());
    MDH_ASSIGN_OR_RETURN(factors.emplace_back(), WithIterators(operand, own, rule));
  }
  if (factors.size() < 2) {
    return text_.ErrorAt(statement_->function, rule,
                         " takes two tensors or more, not one; a copy is eq");
  }
  MDH_ASSIGN_OR_RETURN(const TensorTree value,
                       Combined(OperationNamed("mul"), std::move(factors), rule));
  if (product.is_virtual) return WithDimensions(value, iterators);
  return Assigned(value, statement_->function, PlainList(iterators));
}

}  // namespace mdh
