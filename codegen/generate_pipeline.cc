#include "codegen/generate_pipeline.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/backends/backends.h"
#include "codegen/backends/pipeline_program.h"
#include "codegen/choose/aligned_parts.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/choose/part_design.h"
#include "codegen/print/c_unit.h"
#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/validate.h"
#include "core/device/backends.h"
#include "core/expression/numerics.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/text/pipeline_printer.h"

namespace mdh {
namespace {

// Of a block that combines splits.
constexpr int64_t kThreadsOfCombination = 128;

// Those of all of the group's steps, if the given ones are as AlignParts makes them.
std::optional<std::vector<TuningParameters>> AlignedAs(absl::Span<const TuningParameters> given,
                                                       const JointSteps& joint,
                                                       const SystemModel& model,
                                                       const DeviceDescription& device,
                                                       int64_t threads) {
  std::optional<std::vector<TuningParameters>> aligned = AlignParts(joint, model, device, threads);
  for (int n = 0; aligned && n < joint.body; ++n) {
    TuningParameters same = given[n];
    same.numerics = (*aligned)[n].numerics;
    same.threads = (*aligned)[n].threads;
    if (!(same == (*aligned)[n])) return std::nullopt;
  }
  return aligned;
}

// Those of all steps that are computed: of steps that are none of the given ones by rules, for as
// many threads as the given ones of their group have.
std::vector<TuningParameters> ParametersOfAll(const ComputedPipeline& computed,
                                              const SystemModel& model,
                                              const DeviceDescription& device,
                                              absl::Span<const TuningParameters> parameters) {
  std::vector<TuningParameters> all(computed.given.size());
  for (size_t s = 0; s < all.size(); ++s) {
    const int given = computed.given[s];
    all[s] = given >= 0 ? parameters[given]
                        : DefaultParameters(computed.pipeline.steps()[s].expression, model, device);
  }
  for (const JointSteps& joint : computed.groups) {
    int64_t threads = 0;
    std::optional<std::vector<TuningParameters>> aligned;
    for (const bool is_given : {true, false}) {
      if (!is_given) {
        aligned = AlignedAs(absl::MakeSpan(all).subspan(joint.group.first), joint, model, device,
                            threads);
      }
      for (size_t n = 0; n < joint.part.steps.size(); ++n) {
        const size_t s = joint.group.first + n;
        const Expression& part = joint.part.steps[n].expression;
        if ((computed.given[s] >= 0) != is_given) continue;
        if (is_given) {
          threads = std::max(threads, ThreadsOfPart(part, model, device, all[s]));
        } else {
          all[s] = aligned ? (*aligned)[n]
                           : ParametersBehindChunks(part, model, device,
                                                    threads > 0 ? threads : kThreadsOfCombination);
        }
      }
    }
  }
  return all;
}

// What is carried from chunk to chunk is combined in another order than that of its points.
Status CheckNumerics(const ComputedPipeline& computed,
                     absl::Span<const TuningParameters> parameters) {
  for (const JointSteps& joint : computed.groups) {
    for (int s = joint.group.first; s < joint.group.first + joint.body; ++s) {
      const Expression& e = computed.pipeline.steps()[s].expression;
      const NumericsPolicy numerics = parameters[computed.given[s]].numerics;
      if (Reassociates(numerics) || !e.has_reduction()) continue;
      return OfStep(InvalidParameters("joint_streamed (sums of chunks in the order of chunks, with "
                                      "changed factors): numerics ",
                                      Name(numerics)),
                    computed.pipeline, s);
    }
  }
  return absl::OkStatus();
}

// A pipeline's steps on their parts.
struct LoweredPipeline {
  ComputedPipeline computed;
  std::vector<TuningParameters> parameters;
  std::vector<LowLevelExpression> steps;
};

Result<LoweredPipeline> LoweredSteps(const Pipeline& pipeline, const SystemModel& model,
                                     const DeviceDescription& device,
                                     absl::Span<const TuningParameters> parameters,
                                     absl::Span<const JointGroup> groups) {
  if (parameters.size() != pipeline.steps().size()) {
    return InvalidArgument("pipeline '", pipeline.name(), "' has ", pipeline.steps().size(),
                           " steps, but ", parameters.size(), " parameters were given");
  }
  MDH_ASSIGN_OR_RETURN(ComputedPipeline computed, ComputedPipelineOf(pipeline, groups));
  MDH_RETURN_IF_ERROR(CheckNumerics(computed, parameters));
  LoweredPipeline lowered{std::move(computed), {}, {}};
  lowered.parameters = ParametersOfAll(lowered.computed, model, device, parameters);
  std::vector<const Expression*> expressions;
  for (const PipelineStep& step : lowered.computed.pipeline.steps()) {
    expressions.push_back(&step.expression);
  }
  for (const JointSteps& joint : lowered.computed.groups) {
    for (size_t s = 0; s < joint.part.steps.size(); ++s) {
      expressions[joint.group.first + s] = &joint.part.steps[s].expression;
    }
  }
  for (size_t s = 0; s < expressions.size(); ++s) {
    Result<LowLevelExpression> step = Lower(*expressions[s], model, device, lowered.parameters[s]);
    if (!step.ok()) return OfStep(step.status(), lowered.computed.pipeline, static_cast<int>(s));
    lowered.steps.push_back(*std::move(step));
  }
  return lowered;
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

// "Plane after plane: columns of 4 places a thread, 2 blocks resident."
std::string DescribePlanes(const JointGroup& group) {
  if (!group.planes) return "";
  std::string text =
      absl::StrCat("Plane after plane: columns of ", group.planes->column, " places a thread");
  if (group.planes->resident > 0) {
    absl::StrAppend(&text, ", ", group.planes->resident, " blocks resident");
  }
  return absl::StrCat(text, ".\n");
}

// "Steps 1 to 3 run together on parts of 8 x 2 points, of which there are 64." And, streamed, "The
// first 2 of them run on chunks of 32 points, of which each of 4 splits has 8."
std::string DescribeGroup(const Pipeline& pipeline, const JointSteps& joint) {
  const JointGroup& group = joint.group;
  std::string text = absl::StrCat("\nSteps ", group.first + 1, " to ", group.last + 1,
                                  " run together on parts of ", absl::StrJoin(group.part, " x "),
                                  " points, of which there are ", PartsOf(pipeline, group), ".\n");
  absl::StrAppend(&text, DescribeRows(group), DescribePlanes(group));
  if (!group.is_streamed()) return text;
  const int64_t chunks = StreamedExtent(pipeline, group) / group.chunk / group.splits;
  absl::StrAppend(&text, "The first ", joint.body, " of them run on chunks of ", group.chunk,
                  " points, of which each of ", group.splits, " splits has ", chunks, ".\n");
  return text;
}

// Two blanks in front of every line.
std::string DescribeSchedule(const std::string& schedule) {
  if (schedule.empty()) return "";
  std::string text = "\nSchedule, besides the lines of steps:\n";
  for (const absl::string_view line : absl::StrSplit(schedule, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, "  ", line, "\n");
  }
  return text;
}

std::string DescribePipeline(const Pipeline& given, const LoweredPipeline& lowered,
                             const PipelineProgram& built, const std::string& schedule) {
  const Pipeline& pipeline = lowered.computed.pipeline;
  const std::vector<LowLevelExpression>& steps = lowered.steps;
  std::string text = absl::StrCat(DescribeGenerator(), ToText(given), DescribeSchedule(schedule));
  for (const JointSteps& joint : lowered.computed.groups) {
    absl::StrAppend(&text, DescribeGroup(pipeline, joint));
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

// How early launches of a call may begin: no earlier than any step says. Those that prefetch bring
// the inputs of the call.
EarlyLaunches EarlyOfAll(const Pipeline& pipeline, absl::Span<const TuningParameters> parameters) {
  constexpr std::array kLatestFirst = {EarlyLaunches::kNone, EarlyLaunches::kStages,
                                       EarlyLaunches::kCalls, EarlyLaunches::kPrefetches};
  const auto begins_so = [&](EarlyLaunches early) {
    return std::ranges::find(parameters, early, &TuningParameters::early_launches) !=
           parameters.end();
  };
  const auto* const latest = std::ranges::find_if(kLatestFirst, begins_so);
  if (latest == kLatestFirst.end()) return EarlyLaunches::kStages;
  const bool fits = pipeline.BytesOf(PipelineBuffer::Role::kInput) <= kMostPrefetchedBytes;
  return *latest == EarlyLaunches::kPrefetches && !fits ? EarlyLaunches::kCalls : *latest;
}

// That of the pipeline, but for the description.
KernelUnit UnitOfAll(const Pipeline& pipeline, absl::Span<const TuningParameters> parameters) {
  KernelUnit unit = {.entry = EntryName(pipeline.name()),
                     .description = "",
                     .early_launches = EarlyOfAll(pipeline, parameters),
                     .threads = 1};
  int64_t most_points = -1;
  for (size_t s = 0; s < parameters.size(); ++s) {
    const TuningParameters& p = parameters[s];
    if (!Reassociates(p.numerics)) unit.numerics = p.numerics;
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
                                      absl::Span<const JointGroup> groups,
                                      const std::string& schedule) {
  MDH_ASSIGN_OR_RETURN(const LoweredPipeline lowered,
                       LoweredSteps(pipeline, model, device, parameters, groups));
  const ComputedPipeline& computed = lowered.computed;
  MDH_ASSIGN_OR_RETURN(
      const PipelineProgram built,
      BuildPipelineProgram(computed.pipeline, lowered.steps, computed.groups, device));
  KernelUnit unit = UnitOfAll(computed.pipeline, lowered.parameters);
  unit.description = DescribePipeline(pipeline, lowered, built, schedule);
  return BackendOf(model.kind).has_blocks ? PrintBlocks(built.kernel, unit, device)
                                          : PrintOpenMp(built.kernel, unit);
}

Result<KernelProgram> PipelineProgramOf(const Pipeline& pipeline, const SystemModel& model,
                                        const DeviceDescription& device,
                                        absl::Span<const TuningParameters> parameters,
                                        ProgramForm form, absl::Span<const JointGroup> groups) {
  MDH_ASSIGN_OR_RETURN(const LoweredPipeline lowered,
                       LoweredSteps(pipeline, model, device, parameters, groups));
  const ComputedPipeline& computed = lowered.computed;
  MDH_ASSIGN_OR_RETURN(PipelineProgram built, BuildPipelineProgram(computed.pipeline, lowered.steps,
                                                                   computed.groups, device, form));
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
