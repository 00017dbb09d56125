#include "codegen/backends/pipeline_program.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/program/c_names.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"
#include "core/pipeline/pipeline_place.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;
using Names = std::map<std::string, std::string>;

// "step 2, matmul".
std::string StepLabel(const Pipeline& pipeline, int step) {
  return absl::StrCat("step ", step + 1, ", ", pipeline.steps()[step].expression.name());
}

// Calls functions by their new names. On demand stages wait where they begin: what they might read
// before they wait, other stages write.
class StepRewriter : public Rewriter {
 public:
  StepRewriter(const Names& functions, bool waits_first)
      : functions_(functions), waits_first_(waits_first) {}

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    if (waits_first_ && std::holds_alternative<AwaitStages>(statement.form)) return;
    Rewriter::RewriteStatement(statement, out);
    if (auto* call = std::get_if<Call>(&out.back().form)) {
      call->function = functions_.at(call->function);
    }
  }

 private:
  const Names& functions_;
  const bool waits_first_;
};

// Every name in the stages of a program.
std::set<std::string> NamesInStages(const LoopProgram& program) {
  std::set<std::string> names;
  for (const Stage& stage : program.stages) {
    CollectUsedNames(stage.body, names);
    CollectDeclaredNames(stage.body, names);
  }
  return names;
}

class PipelineJoiner {
 public:
  PipelineJoiner(const Pipeline& pipeline, absl::Span<const LowLevelExpression> steps)
      : pipeline_(pipeline), steps_(steps) {
    for (const char* name : {"thread", "threads", "scratch"}) names_.Reserve(name);
    for (const PipelineBuffer& buffer : pipeline.buffers()) {
      buffers_.push_back(names_.Unique(CIdentifier(buffer.name)));
    }
    shared_.insert(buffers_.begin(), buffers_.end());
  }

  Result<PipelineProgram> Build(const DeviceDescription& device, ProgramForm form) {
    std::vector<KernelProgram> parts;
    for (size_t s = 0; s < steps_.size(); ++s) {
      Result<KernelProgram> part = BuildProgram(steps_[s], device, form);
      if (!part.ok()) return OfStep(part.status(), pipeline_, static_cast<int>(s));
      NameScratchAndFunctions(part->program);
      parts.push_back(*std::move(part));
    }
    for (size_t s = 0; s < steps_.size(); ++s) Append(std::move(parts[s]), static_cast<int>(s));
    AppendTemporaries();
    DeclareArguments();
    return std::move(joined_);
  }

 private:
  LoopProgram& program() { return joined_.kernel.program; }

  void NameScratchAndFunctions(const LoopProgram& program) {
    Names scratch, functions;
    for (const ScratchBuffer& buffer : program.scratch) {
      scratch[buffer.name] = *shared_.insert(names_.Unique(buffer.name)).first;
    }
    for (const Function& function : program.functions) {
      functions[function.name] = names_.Unique(function.name);
    }
    scratch_names_.push_back(std::move(scratch));
    function_names_.push_back(std::move(functions));
  }

  // New names for everything in the stages of a step that does not keep its own: buffers, scratch
  // memory, and what is called as anything of these is in the whole program.
  Names StageNames(const KernelProgram& part, int s) const {
    Names renamed = scratch_names_[s];
    const std::vector<KernelArgument>& arguments = joined_.step_arguments[s];
    for (size_t n = 0; n < arguments.size(); ++n) {
      renamed[part.arguments[n].name] = arguments[n].name;
    }
    const std::set<std::string> in_stages = NamesInStages(part.program);
    NameAllocator own;
    for (const std::string& name : in_stages) own.Reserve(name);
    for (const std::string& name : shared_) own.Reserve(name);
    for (const std::string& name : in_stages) {
      if (shared_.contains(name) && !renamed.contains(name)) renamed[name] = own.Unique(name);
    }
    return renamed;
  }

  void Append(KernelProgram part, int s) {
    const PipelineStep& step = pipeline_.steps()[s];
    std::vector<KernelArgument> arguments = part.arguments;
    for (size_t n = 0; n < arguments.size(); ++n) {
      const size_t inputs = step.inputs.size();
      arguments[n].name = buffers_[n < inputs ? step.inputs[n] : step.outputs[n - inputs]];
    }
    joined_.step_arguments.push_back(std::move(arguments));
    joined_.kernel.wide_indices |= part.wide_indices;

    const Names stage_names = StageNames(part, s);
    const bool reads_steps = std::any_of(step.inputs.begin(), step.inputs.end(),
                                         [&](int b) { return pipeline_.writer(b) >= 0; });
    StepRewriter rewriter(function_names_[s], reads_steps);
    for (Function& function : part.program.functions) {
      function.name = function_names_[s].at(function.name);
      function.body = rewriter.RewriteBlock(function.body);
      program().functions.push_back(std::move(function));
    }
    const int first = static_cast<int>(program().stages.size());
    for (Stage& stage : part.program.stages) {
      stage.comment = absl::StrCat("Of ", StepLabel(pipeline_, s), ": ", stage.comment);
      stage.body = rewriter.RewriteBlock(RenameAll(stage.body, stage_names));
      stage.most_threads = steps_[s].parameters().threads;
      program().stages.push_back(std::move(stage));
    }
    const int last = static_cast<int>(program().stages.size()) - 1;
    stages_of_steps_.push_back({first, last});
    for (ScratchBuffer& buffer : part.program.scratch) {
      buffer.name = scratch_names_[s].at(buffer.name);
      buffer.first_stage = first;
      buffer.last_stage = last;
      program().scratch.push_back(std::move(buffer));
    }
  }

  // Records as their bytes. At least one element, so that what has a pointer has memory, too.
  void AppendTemporaries() {
    for (const int b : pipeline_.BuffersOf(Role::kTemporary)) {
      const PipelineBuffer& buffer = pipeline_.buffers()[b];
      const bool is_record = buffer.type.is_record();
      const int64_t elements = is_record ? buffer.size_bytes() : buffer.elements();
      program().scratch.push_back(
          {.name = buffers_[b],
           .type = is_record ? ScalarType::kUint8 : buffer.type.scalar(),
           .elements = std::max<int64_t>(elements, 1),
           .per_thread = false,
           .first_stage = stages_of_steps_[pipeline_.writer(b)].first,
           .last_stage = stages_of_steps_[pipeline_.Readers(b).back()].second});
    }
  }

  void DeclareArguments() {
    for (const Role role : {Role::kInput, Role::kOutput}) {
      for (const int b : pipeline_.BuffersOf(role)) {
        const PipelineBuffer& buffer = pipeline_.buffers()[b];
        joined_.kernel.arguments.push_back({buffers_[b], buffer.type, buffer.elements(),
                                            role == Role::kOutput, buffer.extents,
                                            buffer.given_strides});
      }
    }
  }

  const Pipeline& pipeline_;
  const absl::Span<const LowLevelExpression> steps_;
  NameAllocator names_;                                // of what several stages see
  std::vector<std::string> buffers_;                   // identifiers
  std::set<std::string> shared_;                       // those of buffers and scratch memory
  std::vector<Names> scratch_names_, function_names_;  // per step
  std::vector<std::pair<int, int>> stages_of_steps_;   // the first and the last one
  PipelineProgram joined_;
};

}  // namespace

Result<PipelineProgram> BuildPipelineProgram(const Pipeline& pipeline,
                                             absl::Span<const LowLevelExpression> steps,
                                             const DeviceDescription& device, ProgramForm form) {
  return PipelineJoiner(pipeline, steps).Build(device, form);
}

Status OfStep(const Status& status, const Pipeline& pipeline, int step) {
  return AtPipelinePlace(
      Status(status.code(), absl::StrCat(StepLabel(pipeline, step), ": ", status.message())),
      {.kind = PipelinePlace::Kind::kStep, .number = step});
}

}  // namespace mdh
