// From assignments to steps of a pipeline.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/pipeline/step_builder.h"
#include "core/teml/teml.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;
using Iterators = std::vector<std::string>;

constexpr char kPlaceInProgram[] = "mdh.teml.offset";

class PipelineMaker {
 public:
  PipelineMaker(const TemlProgram& program, const std::string& name) : program_(program) {
    spec_.name = name;
    for (const TensorPointer& tensor : program.tensors) taken_.insert(tensor->name);
  }

  Result<TemlSteps> Make() {
    FindLive();
    if (live_.size() > Pipeline::kMaxSteps) {
      return InvalidArgument("the program has ", live_.size(), " assignments; at most ",
                             Pipeline::kMaxSteps, " are allowed");
    }
    AddInputs();
    for (const TensorAssignment* assignment : live_) {
      Status status = AddStep(*assignment);
      if (!status.ok()) return WithOffsetInProgram(std::move(status), assignment->token.offset);
      of_steps_.resize(spec_.steps.size() - 1);  // sums before the assignment itself
      of_steps_.push_back(assignment);
    }
    GiveRoles();
    MDH_ASSIGN_OR_RETURN(Pipeline pipeline, Pipeline::Create(std::move(spec_)));
    return TemlSteps{std::move(pipeline), std::move(of_steps_)};
  }

 private:
  // Assignments whose values are not overwritten before anything reads them.
  void FindLive() {
    std::set<std::string> needed;
    for (size_t n = program_.assignments.size(); n-- > 0;) {
      const TensorAssignment& assignment = *program_.assignments[n];
      if (needed.erase(assignment.target->name) == 0 && !IsLast(assignment)) continue;
      for (const TensorNode* access : AccessesOf(assignment.value)) {
        needed.insert(access->tensor->name);
      }
      live_.insert(live_.begin(), &assignment);
    }
  }

  // Buffers of tensors that no assignment has as its target.
  void AddInputs() {
    std::set<std::string> read;
    for (const TensorAssignment* assignment : live_) {
      for (const TensorNode* access : AccessesOf(assignment->terms)) {
        read.insert(access->tensor->name);
      }
    }
    for (const TensorPointer& tensor : program_.tensors) {
      const bool is_constant = program_.initial.count(tensor->name) > 0;
      if (is_constant || program_.IsAssigned(tensor->name) || read.count(tensor->name) == 0) {
        continue;
      }
      current_[tensor->name] = AddBuffer(tensor->name, *tensor, Role::kInput);
    }
  }

  int AddBuffer(const std::string& name, const RealTensor& tensor, Role role) {
    spec_.buffers.push_back({name, role, tensor.type, tensor.shape});
    return static_cast<int>(spec_.buffers.size()) - 1;
  }

  std::string FreeName(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !taken_.insert(name).second; ++n) name = absl::StrCat(wanted, "_", n);
    return name;
  }

  // What no step reads is an output.
  void GiveRoles() {
    std::set<int> read;
    for (const PipelineStep& step : spec_.steps) {
      read.insert(step.inputs.begin(), step.inputs.end());
    }
    for (size_t b = 0; b < spec_.buffers.size(); ++b) {
      if (read.count(static_cast<int>(b)) == 0) spec_.buffers[b].role = Role::kOutput;
    }
  }

  // Whether no later assignment has the same target, whose name its buffer then has.
  bool IsLast(const TensorAssignment& assignment) const {
    return std::ranges::none_of(program_.assignments, [&](const AssignmentPointer& other) {
      return other->number > assignment.number && other->target->name == assignment.target->name;
    });
  }

  static AffineIndex AffineOf(const IteratorIndex& index, const Iterators& dimensions) {
    AffineIndex affine{std::vector<int64_t>(dimensions.size(), 0), index.constant};
    for (const IteratorTerm& term : index.terms) {
      const auto at = std::ranges::find(dimensions, term.iterator);
      affine.coefficients[at - dimensions.begin()] = term.coefficient;
    }
    return affine;
  }

  static IndexFunction FunctionOf(const IteratorList& list, const Iterators& dimensions) {
    IndexFunction function;
    for (const IteratorIndex& index : list) function.indices.push_back(AffineOf(index, dimensions));
    return function;
  }

  // `dimensions` of a step; a step has one at least.
  static std::vector<Dimension> DimensionsOf(const Iterators& iterators,
                                             const TensorAssignment& assignment) {
    std::vector<Dimension> dimensions;
    for (const std::string& iterator : iterators) {
      dimensions.push_back({iterator, assignment.ranges.at(iterator)});
    }
    if (dimensions.empty()) dimensions.push_back({"i", 1});
    return dimensions;
  }

  static Iterators NamesOf(const std::vector<Dimension>& dimensions) {
    Iterators names;
    for (const Dimension& dimension : dimensions) names.push_back(dimension.name);
    return names;
  }

  Status AddStep(const TensorAssignment& assignment) {
    const RealTensor& target = *assignment.target;
    std::map<const TensorNode*, int> sums;
    MDH_RETURN_IF_ERROR(AddSums(*assignment.terms, assignment, &sums));
    StepBuilder builder(spec_.buffers, DimensionsOf(assignment.iterators, assignment));
    const Iterators dimensions = NamesOf(builder.dimensions());
    ReadAll(*assignment.terms, sums, dimensions, &builder.f());
    MDH_ASSIGN_OR_RETURN(int value, ValueOf(*assignment.terms, sums, dimensions, &builder.f()));
    const bool is_reduction = assignment.is_reduction();
    // What the target holds before is combined at the end of a reduction, else at once.
    std::vector<int> stored;
    if (assignment.accumulates.has_value() && HoldsValue(target)) {
      FunctionBuilder& into = is_reduction ? builder.store() : builder.f();
      const int before = ValueBefore(assignment, dimensions, &into);
      const int found = is_reduction ? into.ResultOfF(0, target.type) : value;
      const int both =
          into.Append({OperationOf(*assignment.accumulates), target.type, {before, found}});
      if (is_reduction) {
        stored = {both};
      } else {
        value = both;
      }
    }
    std::vector<CombineOperator> operators(assignment.kept, CombineOperator::Concat());
    if (is_reduction) {
      MDH_ASSIGN_OR_RETURN(const CombineOperator combine,
                           CombineOperator::PointWise(*assignment.accumulates, {target.type}));
      operators.resize(dimensions.size(), combine);
    }
    operators.resize(dimensions.size(), CombineOperator::Concat());
    return Finish(assignment, &builder, {value}, std::move(operators), std::move(stored));
  }

  // The last assignment so far, init, or nothing but the neutral element.
  bool HoldsValue(const RealTensor& tensor) const {
    return current_.count(tensor.name) > 0 || program_.initial.count(tensor.name) > 0;
  }

  int ValueBefore(const TensorAssignment& assignment, const Iterators& dimensions,
                  FunctionBuilder* builder) const {
    const std::string& name = assignment.target->name;
    const auto before = current_.find(name);
    if (before == current_.end()) return builder->Constant(program_.initial.at(name));
    return builder->Read(before->second, {}, FunctionOf(assignment.indices, dimensions))[0];
  }

  Status Finish(const TensorAssignment& assignment, StepBuilder* builder, std::vector<int> results,
                std::vector<CombineOperator> operators, std::vector<int> stored) {
    const RealTensor& target = *assignment.target;
    const std::string name =
        IsLast(assignment) ? target.name : FreeName(absl::StrCat(target.name, "_1"));
    const int buffer = AddBuffer(name, target, Role::kTemporary);
    Buffer view{target.name,
                target.type,
                target.shape,
                {FunctionOf(assignment.indices, NamesOf(builder->dimensions()))},
                /*extents_given=*/true};
    MDH_ASSIGN_OR_RETURN(
        PipelineStep step,
        builder->Finish(StepName(target.name), {{std::move(view)}, {buffer}}, std::move(results),
                        std::move(operators), std::move(stored)));
    spec_.steps.push_back(std::move(step));
    current_[target.name] = buffer;
    return absl::OkStatus();
  }

  std::string StepName(const std::string& target) const {
    return live_.size() == 1 && spec_.steps.empty()
               ? spec_.name
               : absl::StrCat(target.substr(0, 100), "_step", spec_.steps.size() + 1);
  }

  // A step for every sum in `node`, whose result is a temporary that the sum's dimensions index.
  Status AddSums(const TensorNode& node, const TensorAssignment& assignment,
                 std::map<const TensorNode*, int>* sums) {
    for (const TensorTree& child : node.children) {
      MDH_RETURN_IF_ERROR(AddSums(*child, assignment, sums));
    }
    if (node.kind != TensorNode::Kind::kSum || sums->count(&node) > 0) return absl::OkStatus();
    Iterators iterators = FreeIterators(node);
    const size_t kept = iterators.size();
    iterators.insert(iterators.end(), node.bound.begin(), node.bound.end());
    StepBuilder builder(spec_.buffers, DimensionsOf(iterators, assignment));
    ReadAll(*node.children[0], *sums, iterators, &builder.f());
    MDH_ASSIGN_OR_RETURN(const int value,
                         ValueOf(*node.children[0], *sums, iterators, &builder.f()));
    MDH_ASSIGN_OR_RETURN(const CombineOperator add,
                         CombineOperator::PointWise(PointWiseKind::kAdd, {node.type}));
    std::vector<CombineOperator> operators(kept, CombineOperator::Concat());
    operators.resize(iterators.size(), add);
    RealTensor memory{
        FreeName(absl::StrCat(assignment.target->name, "_sum")), node.type, {}, false, node.token};
    IteratorList indices;
    for (size_t d = 0; d < kept; ++d) {
      memory.shape.push_back(assignment.ranges.at(iterators[d]));
      indices.push_back(IteratorIndex::Of(iterators[d]));
    }
    const int buffer = AddBuffer(memory.name, memory, Role::kTemporary);
    Buffer view{memory.name,
                node.type,
                memory.shape,
                {FunctionOf(indices, iterators)},
                /*extents_given=*/true};
    MDH_ASSIGN_OR_RETURN(
        PipelineStep step,
        builder.Finish(memory.name, {{std::move(view)}, {buffer}}, {value}, std::move(operators)));
    spec_.steps.push_back(std::move(step));
    sums->emplace(&node, buffer);
    return absl::OkStatus();
  }

  // In the order in which a sum's temporary has them.
  static Iterators FreeIterators(const TensorNode& sum) {
    Iterators iterators;
    for (const std::string& name : sum.children[0]->dimensions) {
      if (std::ranges::find(sum.bound, name) == sum.bound.end()) iterators.push_back(name);
    }
    return iterators;
  }

  // Reads everything in the order in which the tensors are introduced, so that the inputs of a step
  // are in this order, however they are combined.
  void ReadAll(const TensorNode& tree, const std::map<const TensorNode*, int>& sums,
               const Iterators& dimensions, FunctionBuilder* builder) {
    std::vector<std::pair<int, IndexFunction>> reads;
    CollectReads(tree, sums, dimensions, &reads);
    std::ranges::stable_sort(reads, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [buffer, access] : reads) builder->Read(buffer, {}, access);
  }

  void CollectReads(const TensorNode& node, const std::map<const TensorNode*, int>& sums,
                    const Iterators& dimensions,
                    std::vector<std::pair<int, IndexFunction>>* reads) {
    if (node.kind == TensorNode::Kind::kSum) return;
    if (node.kind == TensorNode::Kind::kAccess) {
      const auto buffer = current_.find(node.tensor->name);
      if (buffer != current_.end()) {
        reads->emplace_back(buffer->second, FunctionOf(node.indices, dimensions));
      }
    }
    for (const TensorTree& child : node.children) CollectReads(*child, sums, dimensions, reads);
  }

  Result<int> ValueOf(const TensorNode& node, const std::map<const TensorNode*, int>& sums,
                      const Iterators& dimensions, FunctionBuilder* builder) {
    switch (node.kind) {
      case TensorNode::Kind::kAccess: {
        const auto buffer = current_.find(node.tensor->name);
        if (buffer == current_.end()) {
          return builder->Constant(program_.initial.at(node.tensor->name));
        }
        return builder->Read(buffer->second, {}, FunctionOf(node.indices, dimensions))[0];
      }
      case TensorNode::Kind::kSum: {
        IteratorList indices;
        for (const std::string& name : FreeIterators(node)) {
          indices.push_back(IteratorIndex::Of(name));
        }
        return builder->Read(sums.at(&node), {}, FunctionOf(indices, dimensions))[0];
      }
      case TensorNode::Kind::kOperation:
        break;
    }
    MDH_ASSIGN_OR_RETURN(int value, ValueOf(*node.children[0], sums, dimensions, builder));
    if (node.operation->is_unary) {
      return builder->Append({node.operation->op, node.type, {value}});
    }
    for (size_t n = 1; n < node.children.size(); ++n) {
      MDH_ASSIGN_OR_RETURN(const int other, ValueOf(*node.children[n], sums, dimensions, builder));
      value = builder->Append({node.operation->op, node.type, {value, other}});
    }
    return value;
  }

  const TemlProgram& program_;
  std::vector<const TensorAssignment*> live_;
  std::vector<const TensorAssignment*> of_steps_;
  PipelineSpec spec_;
  std::set<std::string> taken_;
  std::map<std::string, int> current_;  // where the last value of a tensor is
};

}  // namespace

size_t OffsetInProgram(const Status& status) {
  const auto place = status.GetPayload(kPlaceInProgram);
  size_t offset = 0;
  if (place.has_value() && absl::SimpleAtoi(std::string(*place), &offset)) return offset;
  return 0;
}

Status WithOffsetInProgram(Status status, size_t offset) {
  status.SetPayload(kPlaceInProgram, absl::Cord(absl::StrCat(offset)));
  return status;
}

Result<TemlSteps> ToSteps(const TemlProgram& program, const std::string& name) {
  return PipelineMaker(program, name).Make();
}

Result<Pipeline> ToPipeline(const TemlProgram& program, const std::string& name) {
  MDH_ASSIGN_OR_RETURN(TemlSteps steps, ToSteps(program, name));
  return std::move(steps.pipeline);
}

}  // namespace mdh
