#include "core/teml/assignment.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/teml/iterator_ranges.h"

namespace mdh {
namespace {

using Kind = TensorNode::Kind;

class AssignmentMaker {
 public:
  AssignmentMaker(const Token& statement, TargetSyntax target, NameSupply* names,
                  const ProgramText& text)
      : statement_(statement), target_(std::move(target)), names_(*names), text_(text) {}

  Result<TensorAssignment> Make(const TensorTree& value) {
    made_.token = statement_;
    made_.indices = target_.indices;
    if (target_.tensor != nullptr) MDH_RETURN_IF_ERROR(CheckTarget(*value));
    MDH_RETURN_IF_ERROR(SplitValue(value));
    MDH_RETURN_IF_ERROR(FindIterators());
    std::vector<IteratorUse> uses;
    if (target_.tensor == nullptr) MDH_RETURN_IF_ERROR(DeclareTarget(value->type));
    made_.target = target_.tensor;
    const TensorTree target = MakeAccess(target_.token, target_.tensor, target_.indices);
    AppendUses(*target, /*is_target=*/true, &uses);
    for (const TensorNode* access : AccessesOf(made_.terms)) {
      AppendUses(*access, /*is_target=*/false, &uses);
    }
    MDH_ASSIGN_OR_RETURN(made_.ranges, InferRanges(uses, text_));
    MDH_RETURN_IF_ERROR(CheckRanges(uses));
    MDH_RETURN_IF_ERROR(CheckSelfUse());
    WriteValue(target);
    return std::move(made_);
  }

 private:
  template <typename... Parts>
  Status ErrorAt(const Token& token, const Parts&... message) const {
    return text_.ErrorAt(token, message...);
  }

  bool IsTarget(const TensorTree& tree) const {
    return tree->kind == Kind::kAccess && tree->tensor->name == target_.name &&
           tree->indices == target_.indices;
  }

  // Finds what is combined with the target, and moves sums to the root.
  Status SplitValue(const TensorTree& value) {
    made_.terms = value;
    if (value->kind == Kind::kOperation && value->operation->accumulates.has_value()) {
      std::vector<TensorTree> others = value->children;
      const bool is_difference = value->operation->op == ScalarOp::kSub;
      const auto last = is_difference ? others.begin() + 1 : others.end();
      const auto self = std::find_if(others.begin(), last,
                                     [&](const TensorTree& tree) { return IsTarget(tree); });
      if (self != last) {
        others.erase(self);
        const TemlOperation* const operation =
            is_difference ? OperationNamed("add") : value->operation;
        made_.terms =
            others.size() == 1 ? others[0] : MakeOperation(value->token, operation, others);
        if (is_difference) {
          made_.terms = MakeOperation(value->token, OperationNamed("neg"), {made_.terms});
        }
        made_.accumulates = value->operation->accumulates;
      }
    }
    const SumForm form = ToSumForm(made_.terms, &names_);
    if (form.bound.empty()) return absl::OkStatus();
    if (made_.accumulates.value_or(PointWiseKind::kAdd) != PointWiseKind::kAdd) {
      return absl::OkStatus();  // The sum stays a value of its own.
    }
    made_.overwrites = !made_.accumulates.has_value();
    made_.accumulates = PointWiseKind::kAdd;
    made_.terms = form.terms;
    return absl::OkStatus();
  }

  Status FindIterators() {
    const auto add = [&](const std::string& name) {
      if (std::ranges::find(made_.iterators, name) == made_.iterators.end()) {
        made_.iterators.push_back(name);
      }
    };
    for (const IteratorIndex& index : target_.indices) {
      for (const IteratorTerm& term : index.terms) add(term.iterator);
    }
    made_.kept = made_.iterators.size();
    for (const std::string& name : made_.terms->dimensions) add(name);
    if (!made_.is_reduction() || made_.accumulates.has_value()) return absl::OkStatus();
    const std::string& lost = made_.iterators[made_.kept];
    return ErrorAt(
        target_.token, "'", lost, "' is in the value, but not in the list of '", target_.name,
        "', so that each element would be assigned several times (14); put '", lost,
        "' into the list, or accumulate: ", target_.name, " = add(", target_.name, ", ...)");
  }

  // An undeclared target has the shape of its iterators.
  Status DeclareTarget(ScalarType type) {
    std::vector<IteratorUse> uses;
    for (const TensorNode* access : AccessesOf(made_.terms)) {
      if (access->tensor->name == target_.name) {
        return ErrorAt(access->token, "'", target_.name,
                       "' is read before it has a "
                       "value; introduce it with tensor");
      }
      AppendUses(*access, /*is_target=*/false, &uses);
    }
    MDH_ASSIGN_OR_RETURN(const auto ranges, InferRanges(uses, text_));
    std::vector<int64_t> shape;
    std::set<std::string> seen;
    for (const IteratorIndex& index : target_.indices) {
      const bool is_plain = index.is_plain() && seen.insert(index.terms[0].iterator).second;
      const auto range = is_plain ? ranges.find(index.terms[0].iterator) : ranges.end();
      if (range == ranges.end()) {
        return ErrorAt(target_.token, "'", target_.name,
                       "' was not introduced with tensor (3.4), "
                       "and its shape does not follow from the index ",
                       ToText(index), "; write ", target_.name, " = tensor([...]) before");
      }
      shape.push_back(range->second);
    }
    target_.tensor = std::make_shared<const RealTensor>(
        RealTensor{target_.name, type, std::move(shape), target_.indices.empty(), statement_});
    return absl::OkStatus();
  }

  Status CheckTarget(const TensorNode& value) const {
    const RealTensor& tensor = *target_.tensor;
    if (tensor.shape.size() != target_.indices.size()) {
      return ErrorAt(target_.token, "an assignment (14) needs one index for each dimension: '",
                     tensor.name, "' has ", tensor.shape.size(), ", the list has ",
                     target_.indices.size());
    }
    if (tensor.type == value.type) return absl::OkStatus();
    return ErrorAt(target_.token, "'", tensor.name, "' holds ", Name(tensor.type),
                   ", the value is ", Name(value.type),
                   ": all tensors of an expression have one type "
                   "(Section 2); write tensor(",
                   Name(value.type), ", [...])");
  }

  Status CheckRanges(const std::vector<IteratorUse>& uses) const {
    // The target last: it may have the shape of its iterators.
    for (size_t n = uses.size(); n-- > 0;) {
      const IteratorUse& use = uses[n];
      for (const IteratorTerm& term : use.index->terms) {
        const auto range = made_.ranges.find(term.iterator);
        if (range != made_.ranges.end() && range->second > 0) continue;
        return ErrorAt(
            use.token,
            range == made_.ranges.end()
                ? absl::StrCat("the range of '", term.iterator,
                               "' does not follow (19): no "
                               "tensor has it as an index of its own; write ",
                               term.iterator, " alone as an index of a declared tensor")
                : absl::StrCat("'", term.iterator, "' has no value for which ", ToText(*use.index),
                               " is inside of '", use.tensor->name, "' (19); enlarge the tensor"));
      }
    }
    return CheckInside(uses, made_.ranges, text_);
  }

  // The target is read where it is written, if at all.
  Status CheckSelfUse() {
    for (const TensorNode* access : AccessesOf(made_.terms)) {
      if (access->tensor->name != target_.name) continue;
      made_.reads_target = true;
      if (access->indices == target_.indices && !made_.is_reduction()) continue;
      return ErrorAt(access->token, "'", target_.name, "' is read at ",
                     ToSubscripts(access->indices), " while it is assigned at ",
                     ToSubscripts(target_.indices), made_.is_reduction() ? " and accumulated" : "",
                     ", so that the result depends on the order of the loops; assign to another "
                     "tensor");
    }
    return absl::OkStatus();
  }

  void WriteValue(const TensorTree& target) {
    made_.value = made_.terms;
    if (!made_.accumulates.has_value()) return;
    const absl::string_view name = *made_.accumulates == PointWiseKind::kAdd   ? "add"
                                   : *made_.accumulates == PointWiseKind::kMul ? "mul"
                                   : *made_.accumulates == PointWiseKind::kMin ? "min"
                                                                               : "max";
    made_.value = MakeOperation(made_.terms->token, OperationNamed(name), {target, made_.terms});
  }

  const Token statement_;
  TargetSyntax target_;
  NameSupply& names_;
  const ProgramText& text_;
  TensorAssignment made_;
};

}  // namespace

bool TensorAssignment::is_whole() const {
  std::set<std::string> seen;
  return std::ranges::all_of(indices, [&](const IteratorIndex& index) {
    return index.is_plain() && seen.insert(index.terms[0].iterator).second;
  });
}

Result<TensorAssignment> MakeAssignment(const Token& statement, TargetSyntax target,
                                        const TensorTree& value, NameSupply* names,
                                        const ProgramText& text) {
  return AssignmentMaker(statement, std::move(target), names, text).Make(value);
}

}  // namespace mdh
