#include "server/records/pipeline_record.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/device/system_model.h"
#include "core/expression/canonical.h"
#include "core/expression/progression.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "proto/device_conversion.h"
#include "proto/pipeline_conversion.h"
#include "server/records/kernel_key.h"
#include "server/records/resource_names.h"
#include "server/records/tuning_result_conversion.h"
#include "tuner/measure/results/plausibility.h"
#include "tuner/run/trial_history.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

v1::PipelineTurn TurnOf(const Pipeline& pipeline, const MeasuredPipeline& measured) {
  const PipelineCandidate& candidate = measured.candidate;
  v1::PipelineTurn proto;
  proto.set_partition(Describe(pipeline, candidate.partition, candidate.parameters.groups));
  proto.set_is_unfused(candidate.is_unfused());
  proto.set_time_ns(measured.measurement.time_ns());
  proto.set_is_disturbed(measured.measurement.is_disturbed);
  proto.set_outcome(std::string(Name(measured.measurement.outcome)));
  proto.set_reason(measured.measurement.reason);
  proto.set_parameters(ToText(candidate.parameters));
  for (size_t s = 0; s < candidate.steps.size(); ++s) {
    const Expression& expression = candidate.partition.pipeline.steps()[s].expression;
    v1::PipelineTurnStep* step = proto.add_steps();
    step->set_expression_name(expression.name());
    step->set_expression_digest(Digest(expression));
    step->set_time_ns(candidate.steps[s].time_ns);
    step->set_record(candidate.steps[s].record);
  }
  proto.set_steps_time_ns(candidate.steps_time_ns());
  return proto;
}

// Other orders of contractions than the pipeline's have less.
void TakeOperations(const Partition& partition, v1::TuningRecord& record) {
  record.set_flops(std::min(record.flops(), partition.pipeline.FloatingPointOperations()));
}

}  // namespace

v1::TuningRecord MakePipelineRecord(const Pipeline& pipeline, const v1::KernelKey& key,
                                    const DeviceDescription& device) {
  v1::TuningRecord record;
  record.set_name(RecordName(KernelId(key)));
  *record.mutable_key() = key;
  record.set_expression_name(pipeline.name());
  record.set_expression_text(ToText(pipeline));
  record.set_flops(pipeline.FloatingPointOperations());
  record.set_compulsory_bytes(
      AddOrLargest(pipeline.BytesOf(Role::kInput), pipeline.BytesOf(Role::kOutput)));
  record.set_is_double_precision(
      std::any_of(pipeline.steps().begin(), pipeline.steps().end(),
                  [](const PipelineStep& step) { return IsDoublePrecision(step.expression); }));
  record.set_fits_in_cache(record.compulsory_bytes() <= LargestCache(device));
  *record.mutable_device() = ToProto(device);
  return record;
}

v1::TuningRecord MakePipelineRecord(const Pipeline& pipeline, const v1::KernelKey& key,
                                    const DeviceDescription& device, const PipelineTurns& turns) {
  v1::TuningRecord record = MakePipelineRecord(pipeline, key, device);
  const Measurement& best = turns.best().measurement;
  const PipelineCandidate& found = turns.best().candidate;
  TakeOperations(found.partition, record);
  record.set_parameters(ToText(found.parameters));
  record.set_schedule(PipelineSchedule::TextOf(pipeline, found.partition, found.parameters,
                                               TuningModel(device.kind)));
  record.set_time_ns(best.time_ns());
  record.set_is_disturbed(best.is_disturbed);
  record.set_default_time_ns(turns.default_ns);
  record.set_result_check(static_cast<v1::ResultCheck>(best.check));
  v1::PipelineTurns& proto = *record.mutable_pipeline();
  for (const MeasuredPipeline& measured : turns.measured) {
    if (WasCancelled(measured.measurement)) continue;  // the deadline came first
    record.set_trials(record.trials() + 1);
    *proto.add_kernels() = TurnOf(pipeline, measured);
    if (measured.measurement.time_ns() == 0) record.set_failed_trials(record.failed_trials() + 1);
  }
  record.set_trials(record.trials() + turns.searched);
  record.set_failed_trials(record.failed_trials() + turns.failed_searched);
  proto.set_unfused_time_ns(turns.unfused_ns);
  return record;
}

Result<PredictedKernel> PipelineKernelWithParameters(const Pipeline& pipeline,
                                                     const DeviceDescription& device,
                                                     const v1::KernelKey& key,
                                                     const std::string& parameters) {
  MDH_ASSIGN_OR_RETURN(const PipelineParameters parsed, ParsePipelineParameters(parameters));
  MDH_ASSIGN_OR_RETURN(const ConfiguredPipeline configured,
                       ConfigurePipeline(pipeline, device, parsed));
  for (size_t s = 0; s < parsed.steps.size(); ++s) {
    const NumericsPolicy policy = PolicyFor(configured.partition.pipeline.steps()[s].expression,
                                            static_cast<NumericsPolicy>(key.numerics_policy()));
    if (parsed.steps[s].numerics == policy) continue;
    return absl::InvalidArgumentError("the parameters are for another numerics policy");
  }
  PredictedKernel made;
  made.record = MakePipelineRecord(pipeline, key, device);
  made.record.clear_name();
  TakeOperations(configured.partition, made.record);
  made.record.set_parameters(ToText(parsed));
  made.kernel = MakeKernel(key, configured.kernel, device);
  made.kernel.clear_name();
  return made;
}

Result<v1::PipelineKernel> ExplainPipelineRecord(const v1::TuningRecord& record) {
  if (!HoldsPipeline(record.expression_text())) {
    return absl::FailedPreconditionError("the record is of no pipeline");
  }
  MDH_ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline(record.expression_text()));
  MDH_ASSIGN_OR_RETURN(const PipelineParameters parameters,
                       ParsePipelineParameters(record.parameters()));
  v1::PipelineKernel proto;
  const std::optional<Partition> partition = PartitionWith(pipeline, parameters.edges);
  if (partition) *proto.mutable_partition() = ToProto(pipeline, *partition);
  for (const v1::PipelineTurn& turn : record.pipeline().kernels()) {
    if (turn.parameters() != record.parameters()) continue;
    proto.mutable_partition()->set_text(turn.partition());
    for (int s = 0; s < turn.steps_size(); ++s) {
      v1::PipelineKernelStep* step = proto.add_steps();
      step->set_expression_name(turn.steps(s).expression_name());
      step->set_expression_digest(turn.steps(s).expression_digest());
      step->set_time_ns(turn.steps(s).time_ns());
      step->set_record(turn.steps(s).record());
      step->set_provenance(turn.steps(s).record().empty() ? v1::KERNEL_PROVENANCE_RULES
                                                          : v1::KERNEL_PROVENANCE_MEASURED);
      if (s < std::ssize(parameters.steps)) step->set_parameters(ToText(parameters.steps[s]));
    }
    break;
  }
  proto.set_time_ns(record.time_ns());
  proto.set_unfused_time_ns(record.pipeline().unfused_time_ns());
  proto.set_is_measured(true);
  return proto;
}

}  // namespace mdh
