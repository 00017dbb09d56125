// The state of a TeML program (paper, Section 3.2) and the evaluation of tensor expressions over it
// (Section 3.3.1, 4.2).
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/teml/assignment.h"
#include "core/teml/loop_tree.h"
#include "core/teml/program_text.h"
#include "core/teml/syntax.h"

namespace mdh {

// sigma: identifier -> T + L. Of T there are real tensors without iterators, virtual tensors, and
// assignments; as an operand an assignment stands for its target.
using StateValue = std::variant<TensorPointer, TensorTree, AssignmentPointer, LoopTrees>;
using State = std::map<std::string, StateValue, std::less<>>;

// E_t: what an expression makes of the state. Its value has no name yet.
class TensorEvaluator {
 public:
  // None is owned.
  TensorEvaluator(const State& state, const std::map<std::string, TensorPointer>& declared,
                  NameSupply* names, const ProgramText& text)
      : state_(state), declared_(declared), names_(*names), text_(text) {}

  // The value of the right side of an assignment that is no loop expression. Errors:
  // InvalidArgument with position.
  Result<StateValue> Evaluate(const AssignmentSyntax& statement);

 private:
  using Shape = std::vector<int64_t>;
  using Iterators = std::vector<std::string>;

  Result<StateValue> EvaluateTensor(const TensorSyntax& tensor) const;
  Result<StateValue> EvaluateEq(const EqSyntax& eq);
  Result<StateValue> EvaluateOperation(const OperationSyntax& operation);
  Result<StateValue> EvaluateEntrywise(const EntrywiseSyntax& entrywise);
  Result<StateValue> EvaluateTranspose(const TransposeSyntax& transpose);
  Result<StateValue> EvaluateContract(const ContractSyntax& contract);
  Result<StateValue> EvaluateOuterProduct(const OuterProductSyntax& product);

  // A real tensor, or a virtual one.
  Result<StateValue> Operand(const Token& name, absl::string_view rule) const;
  // The operand with iterators: those of the list, or its own.
  Result<TensorTree> Indexed(const Token& name, const std::optional<IteratorsSyntax>& list,
                             absl::string_view rule) const;
  Result<Shape> ShapeOf(const Token& name, absl::string_view rule);
  Status TooLarge() const;
  // The operand with these iterators for its dimensions, whatever they were called.
  Result<TensorTree> WithIterators(const Token& name, const Iterators& iterators,
                                   absl::string_view rule) const;
  Result<TensorTree> Combined(const TemlOperation* operation, std::vector<TensorTree> children,
                              absl::string_view rule) const;
  Result<StateValue> Assigned(const TensorTree& value, const Token& token, IteratorList indices);
  Status CheckLevel(const NumberSyntax& number, size_t dimensions, absl::string_view rule) const;
  // The name in the target program of what is assigned to.
  std::string TargetName() const;

  const State& state_;
  const std::map<std::string, TensorPointer>& declared_;
  NameSupply& names_;
  const ProgramText& text_;
  const AssignmentSyntax* statement_ = nullptr;
  int64_t nodes_ = 0;  // of virtual operands of the statement
};

}  // namespace mdh
