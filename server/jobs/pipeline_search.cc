#include "server/jobs/pipeline_search.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/choose/default_parameters.h"
#include "codegen/joint_parameters.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/schedule_key.h"
#include "server/jobs/bound_audit.h"
#include "server/jobs/search_effort.h"
#include "server/jobs/tuning_request.h"
#include "server/records/kernel_key.h"
#include "server/records/pipeline_record.h"
#include "server/records/tuning_result_conversion.h"
#include "tuner/pipeline/pipeline_moves.h"
#include "tuner/process/clock.h"
#include "tuner/run/pipeline_candidates.h"

namespace mdh {
namespace {

// The best parameters of a step that are known for the device and compiler of `key`, of searches
// that kept to that schedule of a key.
std::optional<KnownStep> FindStepRecord(const Expression& step, const std::string& key_schedule,
                                        const v1::KernelKey& key, const LookupTable& lookup_table) {
  v1::KernelKey of_step = KeyOfComputation(step, key.numerics_policy());
  of_step.set_device_fingerprint(key.device_fingerprint());
  of_step.set_compiler(key.compiler());
  of_step.set_generator_version(key.generator_version());
  of_step.set_schedule(key_schedule);
  const Result<v1::TuningRecord> record = lookup_table.FindRecord(of_step);
  if (!record.ok()) return std::nullopt;
  Result<TuningParameters> parameters = ParseTuningParameters(record->parameters());
  if (!parameters.ok()) return std::nullopt;
  return KnownStep{*std::move(parameters), record->time_ns(), record->name()};
}

std::vector<PipelineParameters> StepsTogether(const Pipeline& /*pipeline*/,
                                              const Partition& partition,
                                              const DeviceDescription& device,
                                              NumericsPolicy numerics,
                                              const PipelineParameters& /*known*/) {
  return JointCandidates(partition, TuningModel(device.kind), device, numerics);
}

}  // namespace

Result<v1::TuningRecord> MeasureAndStore(const PipelineSearch& search, const SearchTools& tools) {
  const int64_t start_ns = NowNs();
  TuningDevice& device = search.lease.held();
  const DeviceDescription description = device.description();
  TuningOptions options = FromProto(search.options);
  options.on_step = search.on_step;
  std::optional<PipelineSchedule> schedule;
  if (!search.options.schedule().empty()) {
    MDH_ASSIGN_OR_RETURN(schedule,
                         PipelineSchedule::Parse(search.options.schedule(), search.pipeline,
                                                 TuningModel(description.kind)));
  }
  const auto find = [&](const Expression& step) {
    return FindStepRecord(step, "", search.key, tools.lookup_table);
  };
  const auto find_scheduled = [&](const Schedule& of_step) {
    return FindStepRecord(of_step.expression(), KeyScheduleOf(of_step), search.key,
                          tools.lookup_table);
  };
  MDH_ASSIGN_OR_RETURN(std::vector<PipelineCandidate> candidates,
                       PipelineCandidates(search.pipeline, description, find,
                                          {.numerics = options.numerics.policy,
                                           .more = {StepsTogether},
                                           .schedule = schedule ? &*schedule : nullptr,
                                           .find_scheduled = find_scheduled}));
  options.abort =
      AbortCondition::Duration(BudgetOfWhole(search.options.budget_ns(), search.steps_ns));
  PipelineMoves moves(search.pipeline, description,
                      {.numerics = options.numerics.policy,
                       .schedule = schedule ? &*schedule : nullptr,
                       .most = static_cast<size_t>(search.options.max_trials()),
                       .technique = options.technique,
                       .seed = options.seed});
  Result<PipelineTurns> turns = tools.measure_in_turns(
      search.lease, search.pipeline, std::move(candidates), options, search.cancelled, &moves);
  if (search.cancelled) return absl::CancelledError("cancelled");
  if (!turns.ok()) return turns.status();
  DeviceLease* const lease = &search.lease;
  MDH_RETURN_IF_ERROR(CheckCompilers({&lease, 1}));
  v1::TuningRecord record = MakePipelineRecord(search.pipeline, search.key, description, *turns);
  record.set_search_end(v1::SEARCH_END_BUDGET);
  record.set_search_time_ns(NowNs() - start_ns);
  // That of the steps stands behind it.
  record.set_total_search_time_ns(std::max(record.search_time_ns(), search.options.budget_ns()));
  v1::MachinePeaks peaks;
  if (const Result<v1::MachinePeaks> known = tools.catalogue.Peaks(device); known.ok()) {
    peaks = *known;
  } else {
    spdlog::warn("device={} peaks are unknown: {}", device.name(),
                 std::string(known.status().message()));
  }
  BoundAudit audit(search.pipeline, device,
                   static_cast<NumericsPolicy>(search.key.numerics_policy()),
                   search.options.cache_state(), {tools.catalogue, tools.store, tools.metrics});
  for (const MeasuredPipeline& one : turns->measured) peaks = audit.Check(one.measurement, peaks);
  return PutFound(std::move(record),
                  MakeKernel(search.key, turns->best().candidate.kernel, description),
                  {.computation = search.pipeline,
                   .options = search.options,
                   .device = audit.device(),
                   .peaks = peaks,
                   .leases = {&lease, 1}},
                  tools);
}

}  // namespace mdh
