#include "codegen/backends/pipeline_program.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/backends/joint_stage.h"
#include "codegen/backends/next_part.h"
#include "codegen/backends/planes/plane_stage.h"
#include "codegen/backends/row_stage.h"
#include "codegen/backends/stage_names.h"
#include "codegen/lower/finish/fill_unreached.h"
#include "codegen/program/c_names.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"
#include "core/decomposition/validate.h"
#include "core/device/backends.h"
#include "core/pipeline/pipeline_place.h"
#include "core/pipeline/plan/joint_groups.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;
using Names = std::map<std::string, std::string>;

// "step 2, matmul".
std::string StepLabel(const Pipeline& pipeline, int step) {
  return absl::StrCat("step ", step + 1, ", ", pipeline.steps()[step].expression.name());
}

// Calls functions by their new names. On demand stages wait where they begin: what they might touch
// before they wait, stages of other steps use, which also share scratch memory.
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

// Elements of a buffer, records as their bytes. At least one, so that what has a pointer has
// memory, too.
int64_t ScratchElements(const PipelineBuffer& buffer) {
  const int64_t elements = buffer.type.is_record() ? buffer.size_bytes() : buffer.elements();
  return std::max<int64_t>(elements, 1);
}

class PipelineJoiner {
 public:
  PipelineJoiner(const Pipeline& pipeline, absl::Span<const LowLevelExpression> steps,
                 absl::Span<const JointSteps> groups)
      : pipeline_(pipeline), steps_(steps), groups_(groups) {
    for (const char* name : {"thread", "threads", "scratch"}) names_.Reserve(name);
    for (const PipelineBuffer& buffer : pipeline.buffers()) {
      buffers_.push_back(names_.Unique(CIdentifier(buffer.name)));
    }
    shared_.insert(buffers_.begin(), buffers_.end());
  }

  Result<PipelineProgram> Build(const DeviceDescription& device, ProgramForm form) {
    std::vector<KernelProgram> parts;
    for (size_t s = 0; s < steps_.size(); ++s) {
      const JointGroup* const group = GroupOf(static_cast<int>(s));
      if (group != nullptr && group->has_own_nest()) {
        NameScratchAndFunctions({});
        parts.emplace_back();
        continue;
      }
      Result<KernelProgram> part =
          BuildProgram(steps_[s], device, form,
                       group != nullptr ? StoredResults::kCarried : StoredResults::kFinal);
      if (!part.ok()) return OfStep(part.status(), pipeline_, static_cast<int>(s));
      NameScratchAndFunctions(part->program);
      parts.push_back(*std::move(part));
    }
    for (int s = 0; s < std::ssize(steps_); ++s) {
      if (const JointSteps* joint = GroupAt(s); joint == nullptr) {
        Append(std::move(parts[s]), s);
      } else {
        MDH_RETURN_IF_ERROR(joint->group.has_own_nest()
                                ? AppendOwnNest(*joint, device)
                                : AppendGroup(*joint, absl::MakeSpan(parts), device));
        s = joint->group.last;
      }
    }
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

  // The group that begins with the step; nullptr: it is in none.
  const JointSteps* GroupAt(int s) const {
    const auto found = std::ranges::find_if(
        groups_, [&](const JointSteps& joint) { return joint.group.first == s; });
    return found == groups_.end() ? nullptr : &*found;
  }

  // Of the group that the step is in, if it is in one.
  const JointGroup* GroupOf(int s) const {
    const auto found = std::ranges::find_if(groups_, [&](const JointSteps& joint) {
      return s >= joint.group.first && s <= joint.group.last;
    });
    return found == groups_.end() ? nullptr : &found->group;
  }

  // What scratch memory and arguments of a step are called in the whole program.
  Names StageNames(const KernelProgram& part, int s) const {
    Names renamed = scratch_names_[s];
    const std::vector<KernelArgument>& arguments = joined_.step_arguments[s];
    for (size_t n = 0; n < arguments.size(); ++n) {
      renamed[part.arguments[n].name] = arguments[n].name;
    }
    return renamed;
  }

  void AppendFunctions(LoopProgram* part, int s, StepRewriter* rewriter) {
    for (Function& function : part->functions) {
      function.name = function_names_[s].at(function.name);
      function.body = rewriter->RewriteBlock(function.body);
      program().functions.push_back(std::move(function));
    }
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
    StepRewriter rewriter(function_names_[s], /*waits_first=*/s > 0);
    AppendFunctions(&part.program, s, &rewriter);
    const std::vector<Stage> all = part.program.stages;
    const int first = static_cast<int>(program().stages.size());
    for (Stage& stage : part.program.stages) {
      stage.comment = absl::StrCat("Of ", StepLabel(pipeline_, s), ": ", stage.comment);
      stage.body = rewriter.RewriteBlock(WithNames(all, stage.body, stage_names, shared_));
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

  // Of steps of the body that compute point by point, what they write lies as what they read for
  // the last time.
  static std::map<int, int> WrittenInPlace(const JointSteps& joint) {
    std::map<int, int> in_place;
    for (int s = 0; s < joint.body; ++s) {
      const JointPart::Step& step = joint.part.steps[s];
      const Expression& e = step.expression;
      const bool is_simple = step.outputs.size() == 1 && e.store() == nullptr &&
                             !e.has_reduction() && !e.has_prefix_sum() &&
                             step.outputs[0].kind == PartBuffer::Kind::kPart;
      for (size_t n = 0; is_simple && n < step.inputs.size(); ++n) {
        const PartBuffer& input = step.inputs[n];
        const Buffer &read = e.inputs()[n], &written = e.outputs()[0];
        const bool is_same = input.kind == PartBuffer::Kind::kPart && read.type == written.type &&
                             !read.type.is_record() && read.accesses == written.accesses &&
                             read.accesses.size() == 1 && read.extents == written.extents &&
                             read.given_strides == written.given_strides;
        if (!is_same || in_place.contains(input.buffer) || !IsLastUse(joint, s, n)) continue;
        in_place[step.outputs[0].buffer] = input.buffer;
        break;
      }
    }
    return in_place;
  }
  // Of a buffer that a step of the body has written, not carried.
  static bool IsLastUse(const JointSteps& joint, int s, size_t input) {
    const int buffer = joint.part.steps[s].inputs[input].buffer;
    for (const StreamedSteps::Carried& own : joint.carried) {
      if (own.before == buffer || own.after == buffer) return false;
    }
    for (size_t t = s; t < joint.part.steps.size(); ++t) {
      const std::vector<PartBuffer>& inputs = joint.part.steps[t].inputs;
      for (size_t n = 0; n < inputs.size(); ++n) {
        const bool is_itself = t == static_cast<size_t>(s) && n == input;
        const bool uses = inputs[n].kind == PartBuffer::Kind::kPart && inputs[n].buffer == buffer;
        if (uses && !is_itself) return false;
      }
    }
    return true;
  }

  Status AppendGroup(const JointSteps& joint, absl::Span<KernelProgram> parts,
                     const DeviceDescription& device) {
    const JointGroup& group = joint.group;
    const JointPart& part = joint.part;
    JointStageParts all = {.steps = {},
                           .extents = CommonExtents(pipeline_, group),
                           .part = group.part,
                           .has_origins = part.has_origins,
                           .buffers = buffers_,
                           .types = {},
                           .part_elements = {}};
    if (group.is_streamed()) {
      all.extents.push_back(StreamedExtent(pipeline_, group));
      all.part.push_back(group.chunk);
      if (group.splits > 1) {
        all.extents.push_back(group.splits);
        all.part.push_back(1);
      }
      all.common = static_cast<int>(group.part.size());
      all.body = joint.body;
      all.carried = joint.carried;
      all.bounds = joint.bounds;
      all.in_place = WrittenInPlace(joint);
    }
    for (const PipelineBuffer& buffer : pipeline_.buffers()) all.types.push_back(buffer.type);
    const int first = static_cast<int>(program().stages.size());
    if (!group.is_streamed() && !BackendOf(device.kind).has_blocks) {
      RequestNextPart(parts.subspan(group.first, part.steps.size()), {part, all.extents, all.part},
                      device);
    }
    for (int s = group.first; s <= group.last; ++s) {
      all.steps.push_back(JointStep(part.steps[s - group.first], std::move(parts[s]), s));
      AddMemoryOfPart(part.steps[s - group.first], &all);
      FillOutputs(part.steps[s - group.first], s);
    }
    return AppendStage(group, first, BuildJointStage(std::move(all), device, &names_, &shared_));
  }

  // Of steps in rows or in planes there are no programs.
  Status AppendOwnNest(const JointSteps& joint, const DeviceDescription& device) {
    const JointGroup& group = joint.group;
    const JointPart& part = joint.part;
    const int first = static_cast<int>(program().stages.size());
    for (int s = group.first; s <= group.last; ++s) {
      const bool may_reorder = Reassociates(steps_[s].parameters().numerics) ||
                               !pipeline_.steps()[s].expression.has_reduction();
      if (!may_reorder) {
        return OfStep(InvalidParameters("row_numerics (sums of rows are in no order)"), pipeline_,
                      s);
      }
      joined_.step_arguments.emplace_back();
      joined_.kernel.wide_indices |= NeedsWideIndices(pipeline_.steps()[s]);
      const std::vector<PartBuffer>& outputs = part.steps[s - group.first].outputs;
      for (size_t b = 0; b < outputs.size(); ++b) {
        if (outputs[b].kind == PartBuffer::Kind::kPart) of_part_.insert(outputs[b].buffer);
      }
      FillOutputs(part.steps[s - group.first], s);
    }
    if (group.rows) {
      return AppendStage(group, first, BuildRowStage(pipeline_, group, buffers_, device, shared_));
    }
    Result<Stage> planes = BuildPlaneStage(pipeline_, group, buffers_, device, shared_);
    if (!planes.ok()) return AppendStage(group, first, planes.status());
    return AppendStage(group, first, JointStage{*std::move(planes), {}});
  }

  // `built`: of the steps of the group, whose other stages are there from number `first` on.
  Status AppendStage(const JointGroup& group, int first, Result<JointStage> built) {
    if (!built.ok()) return OfStep(built.status(), pipeline_, group.first);
    program().stages.push_back(std::move(built->stage));
    const int last = static_cast<int>(program().stages.size()) - 1;
    for (int s = group.first; s <= group.last; ++s) stages_of_steps_.push_back({first, last});
    for (ScratchBuffer& buffer : built->scratch) {
      buffer.first_stage = buffer.last_stage = last;
      program().scratch.push_back(std::move(buffer));
    }
    return absl::OkStatus();
  }

  JointStageParts::Step JointStep(const JointPart::Step& step, KernelProgram part, int s) {
    // Of the whole, which pointers move through.
    joined_.kernel.wide_indices |= part.wide_indices || NeedsWideIndices(pipeline_.steps()[s]);
    StepRewriter rewriter(function_names_[s], /*waits_first=*/true);
    AppendFunctions(&part.program, s, &rewriter);
    const std::vector<Stage> stages = part.program.stages;
    for (Stage& stage : part.program.stages) {
      stage.body = rewriter.RewriteBlock(RenameAll(stage.body, scratch_names_[s]));
    }
    for (ScratchBuffer& buffer : part.program.scratch) {
      buffer.name = scratch_names_[s].at(buffer.name);
    }
    std::vector<PartBuffer> buffers = step.inputs;
    buffers.insert(buffers.end(), step.outputs.begin(), step.outputs.end());
    std::vector<KernelArgument> arguments = part.arguments;
    for (size_t n = 0; n < arguments.size(); ++n) {
      arguments[n].name =
          buffers[n].kind == PartBuffer::Kind::kOrigins ? "origins" : buffers_[buffers[n].buffer];
    }
    joined_.step_arguments.push_back(std::move(arguments));
    return {.label = StepLabel(pipeline_, s),
            .built = std::move(part),
            .buffers = std::move(buffers),
            .threads = steps_[s].parameters().threads,
            .commutes = Commutes(steps_[s].expression())};
  }

  static bool Commutes(const Expression& e) {
    return !e.has_reduction() || !e.reduction().keeps_order();
  }

  bool NeedsWideIndices(const PipelineStep& step) const {
    constexpr int64_t kLargest = int64_t{1} << 30;
    const auto is_large = [&](int b) { return pipeline_.buffers()[b].size_bytes() >= kLargest; };
    return std::ranges::any_of(step.inputs, is_large) ||
           std::ranges::any_of(step.outputs, is_large);
  }

  void AddMemoryOfPart(const JointPart::Step& step, JointStageParts* all) {
    for (size_t b = 0; b < step.outputs.size(); ++b) {
      if (step.outputs[b].kind != PartBuffer::Kind::kPart) continue;
      all->part_elements[step.outputs[b].buffer] = step.expression.outputs()[b].elements();
      of_part_.insert(step.outputs[b].buffer);
    }
  }

  // What no part reaches of an output.
  void FillOutputs(const JointPart::Step& step, int s) {
    const PipelineStep& whole = pipeline_.steps()[s];
    ExpressionSpec spec = whole.expression.spec();
    std::vector<std::string> names;
    for (size_t b = 0; b < spec.outputs.size(); ++b) {
      spec.outputs[b].keeps_unreached |= step.outputs[b].kind == PartBuffer::Kind::kPart;
      names.push_back(buffers_[whole.outputs[b]]);
    }
    LoopProgram fill;
    FillUnreached(Expression::Unchecked(std::move(spec)), names,
                  BackendOf(steps_[s].model().kind).has_blocks ? ItemSharing::kInterleaved
                                                               : ItemSharing::kContiguous,
                  &fill);
    for (Stage& stage : fill.stages) {
      stage.comment = absl::StrCat("Of ", StepLabel(pipeline_, s), ": ", stage.comment);
      Names own;
      for (const std::string& name : names) own[name] = name;
      stage.body = WithNames({stage}, stage.body, own, shared_);
      program().stages.push_back(std::move(stage));
    }
  }

  void AppendTemporaries() {
    for (const int b : pipeline_.BuffersOf(Role::kTemporary)) {
      if (of_part_.contains(b)) continue;
      const PipelineBuffer& buffer = pipeline_.buffers()[b];
      program().scratch.push_back(
          {.name = buffers_[b],
           .type = buffer.type.is_record() ? ScalarType::kUint8 : buffer.type.scalar(),
           .elements = ScratchElements(buffer),
           .per_thread = false,
           .first_stage = stages_of_steps_[pipeline_.writer(b)].first,
           .last_stage = stages_of_steps_[pipeline_.Readers(b).back()].second});
    }
  }

  // Whether a group carries the buffer from chunk to chunk: it is no input of the kernel.
  bool IsCarried(int b) const {
    return std::ranges::any_of(groups_, [&](const JointSteps& joint) {
      return std::ranges::any_of(
          joint.carried, [&](const StreamedSteps::Carried& own) { return own.before == b; });
    });
  }

  void DeclareArguments() {
    for (const Role role : {Role::kInput, Role::kOutput}) {
      for (const int b : pipeline_.BuffersOf(role)) {
        if (IsCarried(b)) continue;
        const PipelineBuffer& buffer = pipeline_.buffers()[b];
        joined_.kernel.arguments.push_back({buffers_[b], buffer.type, buffer.elements(),
                                            role == Role::kOutput, buffer.extents,
                                            buffer.given_strides});
      }
    }
  }

  const Pipeline& pipeline_;
  const absl::Span<const LowLevelExpression> steps_;
  const absl::Span<const JointSteps> groups_;
  NameAllocator names_;                                // of what several stages see
  std::vector<std::string> buffers_;                   // identifiers
  std::set<std::string> shared_;                       // those of buffers and scratch memory
  std::vector<Names> scratch_names_, function_names_;  // per step
  std::vector<std::pair<int, int>> stages_of_steps_;   // the first and the last one
  std::set<int> of_part_;                              // temporaries in memory of parts
  PipelineProgram joined_;
};

}  // namespace

Result<PipelineProgram> BuildPipelineProgram(const Pipeline& pipeline,
                                             absl::Span<const LowLevelExpression> steps,
                                             absl::Span<const JointSteps> groups,
                                             const DeviceDescription& device, ProgramForm form) {
  return PipelineJoiner(pipeline, steps, groups).Build(device, form);
}

Status OfStep(const Status& status, const Pipeline& pipeline, int step) {
  return AtPipelinePlace(
      Status(status.code(), absl::StrCat(StepLabel(pipeline, step), ": ", status.message())),
      {.kind = PipelinePlace::Kind::kStep, .number = step});
}

}  // namespace mdh
