#include "codegen/generate_pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/backends/backends.h"
#include "codegen/backends/pipeline_program.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/print/c_unit.h"
#include "core/decomposition/low_level_expression.h"
#include "core/device/backends.h"
#include "core/expression/numerics.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/text/pipeline_printer.h"

namespace mdh {
namespace {

// What groups compute on their parts. Errors: those of PartOf, or which of them is misplaced.
Result<std::vector<JointSteps>> JointStepsOf(const Pipeline& pipeline,
                                             absl::Span<const JointGroup> groups) {
  std::vector<JointSteps> joint;
  for (const JointGroup& group : groups) {
    if (!joint.empty() && group.first <= joint.back().group.last) {
      return absl::InvalidArgumentError(
          absl::StrCat("the joint group of steps ", group.first + 1, " to ", group.last + 1,
                       " comes behind one up to step ", joint.back().group.last + 1));
    }
    MDH_ASSIGN_OR_RETURN(JointPart part, PartOf(pipeline, group));
    joint.push_back({group, std::move(part)});
  }
  return joint;
}

Result<std::vector<LowLevelExpression>> LoweredSteps(const Pipeline& pipeline,
                                                     const SystemModel& model,
                                                     const DeviceDescription& device,
                                                     absl::Span<const TuningParameters> parameters,
                                                     absl::Span<const JointSteps> groups) {
  if (parameters.size() != pipeline.steps().size()) {
    return absl::InvalidArgumentError(absl::StrCat("pipeline '", pipeline.name(), "' has ",
                                                   pipeline.steps().size(), " steps, but ",
                                                   parameters.size(), " parameters were given"));
  }
  std::vector<const Expression*> expressions;
  for (const PipelineStep& step : pipeline.steps()) expressions.push_back(&step.expression);
  for (const JointSteps& joint : groups) {
    for (size_t s = 0; s < joint.part.steps.size(); ++s) {
      expressions[joint.group.first + s] = &joint.part.steps[s].expression;
    }
  }
  std::vector<LowLevelExpression> steps;
  for (size_t s = 0; s < parameters.size(); ++s) {
    Result<LowLevelExpression> step = Lower(*expressions[s], model, device, parameters[s]);
    if (!step.ok()) return OfStep(step.status(), pipeline, static_cast<int>(s));
    steps.push_back(*std::move(step));
  }
  return steps;
}

std::string NamesOfBuffers(const Pipeline& pipeline, const std::vector<int>& buffers) {
  return absl::StrJoin(buffers, ", ", [&](std::string* out, int b) {
    absl::StrAppend(out, pipeline.buffers()[b].name);
  });
}

// "Parts are rows: 256 threads a row, 2 rows a block, vectors of 4, kept in registers."
std::string DescribeRows(const JointGroup& group) {
  if (!group.rows) return "";
  constexpr const char* kKept[] = {"kept in registers", "kept in shared memory", "read again"};
  return absl::StrCat("Parts are rows: ", group.rows->threads, " threads a row, ", group.rows->rows,
                      " rows a block, vectors of ", group.rows->vector, ", ",
                      kKept[static_cast<int>(group.rows->keep)], ".\n");
}

// "Steps 1 to 3 run together on parts of 8 x 2 points, of which there are 64."
std::string DescribeGroup(const Pipeline& pipeline, const JointGroup& group) {
  return absl::StrCat("\nSteps ", group.first + 1, " to ", group.last + 1,
                      " run together on parts of ", absl::StrJoin(group.part, " x "),
                      " points, of which there are ", PartsOf(pipeline, group), ".\n",
                      DescribeRows(group));
}

std::string DescribePipeline(const Pipeline& pipeline, absl::Span<const LowLevelExpression> steps,
                             absl::Span<const JointSteps> groups, const PipelineProgram& built) {
  std::string text = absl::StrCat(DescribeGenerator(), ToText(pipeline));
  for (const JointSteps& joint : groups) {
    absl::StrAppend(&text, DescribeGroup(pipeline, joint.group));
  }
  for (size_t s = 0; s < steps.size(); ++s) {
    const PipelineStep& step = pipeline.steps()[s];
    absl::StrAppend(&text, "\nStep ", s + 1, ": ", NamesOfBuffers(pipeline, step.outputs), " = ",
                    step.expression.name(), "(", NamesOfBuffers(pipeline, step.inputs), ")\n");
    if (built.step_arguments[s].empty()) continue;  // in rows
    absl::StrAppend(&text, "\n", DescribeLowering(steps[s], built.step_arguments[s]));
  }
  return text;
}

// That of the pipeline, but for the description.
KernelUnit UnitOfAll(const Pipeline& pipeline, absl::Span<const TuningParameters> parameters) {
  KernelUnit unit = {.entry = EntryName(pipeline.name()),
                     .description = "",
                     .early_launches = EarlyLaunches::kCalls,
                     .threads = 1};
  int64_t most_points = -1;
  for (size_t s = 0; s < parameters.size(); ++s) {
    const TuningParameters& p = parameters[s];
    if (p.numerics != NumericsPolicy::kReassociate) unit.numerics = p.numerics;
    const bool is_less_early =
        p.early_launches == EarlyLaunches::kNone || unit.early_launches == EarlyLaunches::kCalls;
    if (is_less_early) unit.early_launches = p.early_launches;
    const bool has_all =
        p.threads == TuningParameters::kAllThreads || unit.threads == TuningParameters::kAllThreads;
    unit.threads = has_all ? TuningParameters::kAllThreads : std::max(unit.threads, p.threads);
    if (const int64_t points = pipeline.steps()[s].expression.points(); points > most_points) {
      most_points = points;
      unit.compiler = p.compiler;
    }
  }
  return unit;
}

}  // namespace

Result<Kernel> GeneratePipelineKernel(const Pipeline& pipeline, const SystemModel& model,
                                      const DeviceDescription& device,
                                      absl::Span<const TuningParameters> parameters,
                                      absl::Span<const JointGroup> groups) {
  MDH_ASSIGN_OR_RETURN(const std::vector<JointSteps> joint, JointStepsOf(pipeline, groups));
  MDH_ASSIGN_OR_RETURN(const std::vector<LowLevelExpression> steps,
                       LoweredSteps(pipeline, model, device, parameters, joint));
  MDH_ASSIGN_OR_RETURN(const PipelineProgram built,
                       BuildPipelineProgram(pipeline, steps, joint, device));
  KernelUnit unit = UnitOfAll(pipeline, parameters);
  unit.description = DescribePipeline(pipeline, steps, joint, built);
  return BackendOf(model.kind).has_blocks ? PrintBlocks(built.kernel, unit, device)
                                          : PrintOpenMp(built.kernel, unit);
}

Result<KernelProgram> PipelineProgramOf(const Pipeline& pipeline, const SystemModel& model,
                                        const DeviceDescription& device,
                                        absl::Span<const TuningParameters> parameters,
                                        ProgramForm form, absl::Span<const JointGroup> groups) {
  MDH_ASSIGN_OR_RETURN(const std::vector<JointSteps> joint, JointStepsOf(pipeline, groups));
  MDH_ASSIGN_OR_RETURN(const std::vector<LowLevelExpression> steps,
                       LoweredSteps(pipeline, model, device, parameters, joint));
  MDH_ASSIGN_OR_RETURN(PipelineProgram built,
                       BuildPipelineProgram(pipeline, steps, joint, device, form));
  return std::move(built.kernel);
}

std::vector<TuningParameters> DefaultParameters(const Pipeline& pipeline, const SystemModel& model,
                                                const DeviceDescription& device,
                                                NumericsPolicy numerics) {
  std::vector<TuningParameters> parameters;
  for (const PipelineStep& step : pipeline.steps()) {
    parameters.push_back(
        DefaultParameters(step.expression, model, device, PolicyFor(step.expression, numerics)));
  }
  return parameters;
}

}  // namespace mdh
