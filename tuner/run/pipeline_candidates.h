// Which kernels of a whole pipeline are worth being measured, from what is known of its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/expression/numerics.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/schedule/pipeline_parameters.h"
#include "core/pipeline/schedule/pipeline_schedule.h"

namespace mdh {

// The best that is known of an expression on the device.
struct KnownStep {
  TuningParameters parameters;
  int64_t time_ns = 0;      // by itself; 0: it was not measured
  std::string record = "";  // whose parameters these are; empty: those from rules
};

// nullopt: nothing is known.
using FindKnownStep = std::function<std::optional<KnownStep>(const Expression&)>;

// The same of searches that kept to a schedule of the expression.
using FindScheduledStep = std::function<std::optional<KnownStep>(const Schedule&)>;

struct PipelineCandidate {
  Partition partition;
  PipelineParameters parameters;
  std::vector<KnownStep> steps;  // of the partition's pipeline
  Kernel kernel;

  // Sum of the steps' times; 0: some were not measured.
  int64_t steps_time_ns() const;
  // Nothing is fused, and every step runs by itself.
  bool is_unfused() const { return partition.is_unfused() && parameters.groups.empty(); }
};

// More ways to compute a partition of a pipeline, beside those that only put its steps one after
// the other; `known`: these with the best that is known.
using MoreParameters = std::function<std::vector<PipelineParameters>(
    const Pipeline& pipeline, const Partition& partition, const DeviceDescription& device,
    NumericsPolicy numerics, const PipelineParameters& known)>;

struct PipelineCandidateOptions {
  NumericsPolicy numerics = NumericsPolicy::kReassociate;
  int most_fused = 3;  // by the steps' times
  // Of each of `more`, for the unfused partition and for the one that rules take; for others less,
  // as what runs together there is mostly the same.
  int most_more = 10, most_more_of_others = 4;
  std::vector<MoreParameters> more = {};
  // What all of them keep to, and what is known of steps that lines are about; null: nothing.
  const PipelineSchedule* schedule = nullptr;
  FindScheduledStep find_scheduled = nullptr;
};

// The first is the one from rules (DefaultPipelineParameters of the plan's partitions), the second
// the unfused one with the best that is known of its steps. Then come fused ones with the
// best that is known of their steps, those with the shortest sums of times first, at most
// `most_fused`; and of all of these what `more` has. What the generator refuses is left out, and of
// equal kernels all but the first, so that there may be less. Under a schedule, those of them that
// keep to it, and groups that it names, with steps in which nothing is known of their lines as
// rules or their search space have them; one that says everything is the only candidate. Errors:
// what the generator said, if it refused all; FailedPrecondition if nothing keeps to the schedule.
Result<std::vector<PipelineCandidate>> PipelineCandidates(const Pipeline& pipeline,
                                                          const DeviceDescription& device,
                                                          const FindKnownStep& find,
                                                          const PipelineCandidateOptions& options);

// Parameters that the schedule of a step allows: those that it says, of rules, or of its search
// space. nullopt: none are known.
std::optional<TuningParameters> OneUnder(const Schedule& schedule, const DeviceDescription& device,
                                         NumericsPolicy numerics);

// The kernel of a pipeline with these parameters, and its partition. Errors: InvalidArgument if no
// partition of the pipeline has such edges, or not so many steps; what the generator says.
struct ConfiguredPipeline {
  Partition partition;
  Kernel kernel;
};
Result<ConfiguredPipeline> ConfigurePipeline(const Pipeline& pipeline,
                                             const DeviceDescription& device,
                                             const PipelineParameters& parameters);

}  // namespace mdh
