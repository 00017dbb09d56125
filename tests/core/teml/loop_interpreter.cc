#include "tests/core/teml/loop_interpreter.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// Iterators that have a value.
using IteratorValues = std::map<std::string, int64_t>;

int64_t ValueAt(const IteratorIndex& index, const IteratorValues& values) {
  int64_t value = index.constant;
  for (const IteratorTerm& term : index.terms) {
    value += term.coefficient * values.at(term.iterator);
  }
  return value;
}

class LoopInterpreter {
 public:
  explicit LoopInterpreter(TensorContents* contents) : contents_(*contents) {}

  void Run(const LoopTrees& trees) {
    for (const LoopTree& tree : trees) {
      std::visit(Overloaded{[&](const CountedLoop& loop) { RunLoop(loop); },
                            [&](const AssignmentLeaf& leaf) { Assign(leaf); }},
                 tree->node);
    }
  }

 private:
  void RunLoop(const CountedLoop& loop) {
    const int64_t first = ValueAt(loop.lower, values_);
    int64_t last = ValueAt(loop.upper[0], values_);
    for (const IteratorIndex& upper : loop.upper) last = std::min(last, ValueAt(upper, values_));
    const bool is_backwards = loop.is_parallel || loop.is_vector;
    for (int64_t n = first; n <= last; ++n) {
      values_[loop.iterator] = is_backwards ? first + last - n : n;
      Run(loop.body);
    }
    values_.erase(loop.iterator);
  }

  void Assign(const AssignmentLeaf& leaf) {
    const TensorAssignment& assignment = *leaf.assignment;
    IteratorValues own;
    for (const std::string& iterator : assignment.iterators) {
      const auto value = leaf.values.find(iterator);
      own[iterator] =
          value == leaf.values.end() ? values_.at(iterator) : ValueAt(value->second, values_);
    }
    const ScalarValue result = Evaluate(*assignment.value, assignment, &own);
    result.Store(ElementOf(*assignment.target, assignment.indices, own));
  }

  std::byte* ElementOf(const RealTensor& tensor, const IteratorList& indices,
                       const IteratorValues& values) {
    int64_t element = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      element = element * tensor.shape[d] + ValueAt(indices[d], values);
    }
    return contents_.at(tensor.name).data() + element * SizeBytes(tensor.type);
  }

  ScalarValue Evaluate(const TensorNode& node, const TensorAssignment& assignment,
                       IteratorValues* values) {
    switch (node.kind) {
      case TensorNode::Kind::kAccess:
        return ScalarValue::Load(node.type, ElementOf(*node.tensor, node.indices, *values));
      case TensorNode::Kind::kOperation: {
        ScalarValue result = Evaluate(*node.children[0], assignment, values);
        if (node.operation->is_unary) return Apply(node.operation->op, node.type, {result});
        for (size_t n = 1; n < node.children.size(); ++n) {
          result = Apply(node.operation->op, node.type,
                         {result, Evaluate(*node.children[n], assignment, values)});
        }
        return result;
      }
      case TensorNode::Kind::kSum:
        break;
    }
    ScalarValue sum = ScalarValue::Zero(node.type);
    AddUp(node, 0, assignment, values, &sum);
    return sum;
  }

  // The terms of a sum for all values of its iterators from number `n` on.
  void AddUp(const TensorNode& node, size_t n, const TensorAssignment& assignment,
             IteratorValues* values, ScalarValue* sum) {
    if (n == node.bound.size()) {
      *sum =
          Apply(ScalarOp::kAdd, node.type, {*sum, Evaluate(*node.children[0], assignment, values)});
      return;
    }
    const std::string& iterator = node.bound[n];
    const auto outer = values->find(iterator);
    std::optional<int64_t> before;
    if (outer != values->end()) before = outer->second;
    for (int64_t value = 0; value < assignment.ranges.at(iterator); ++value) {
      (*values)[iterator] = value;
      AddUp(node, n + 1, assignment, values, sum);
    }
    values->erase(iterator);
    if (before.has_value()) values->emplace(iterator, *before);
  }

  TensorContents& contents_;
  IteratorValues values_;  // of the loops that are entered
};

BufferBytes FilledWith(const RealTensor& tensor, const ScalarValue& value) {
  int64_t elements = 1;
  for (const int64_t extent : tensor.shape) elements *= extent;
  BufferBytes bytes(elements * SizeBytes(tensor.type));
  for (int64_t e = 0; e < elements; ++e) value.Store(bytes.data() + e * SizeBytes(tensor.type));
  return bytes;
}

}  // namespace

Result<TensorContents> InterpretLoops(const TemlProgram& program, const TensorContents& inputs) {
  TensorContents contents;
  for (const TensorPointer& tensor : program.tensors) {
    BufferBytes bytes = FilledWith(*tensor, program.InitialValue(*tensor));
    if (!program.IsAssigned(tensor->name) && program.initial.count(tensor->name) == 0) {
      const auto given = inputs.find(tensor->name);
      if (given == inputs.end()) continue;  // It may be one that nothing reads.
      if (given->second.size() != bytes.size()) {
        return absl::InvalidArgumentError(absl::StrCat("input '", tensor->name, "' has ",
                                                       bytes.size(), " bytes, but ",
                                                       given->second.size(), " were given"));
      }
      bytes = given->second;
    }
    contents.emplace(tensor->name, std::move(bytes));
  }
  for (const AssignmentPointer& assignment : program.assignments) {
    for (const TensorNode* access : AccessesOf(assignment->terms)) {
      if (contents.count(access->tensor->name) > 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input '", access->tensor->name, "' is missing"));
    }
  }
  for (const LoopTrees& loops : program.loops) LoopInterpreter(&contents).Run(loops);
  return contents;
}

}  // namespace mdh
