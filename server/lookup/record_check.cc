#include "server/lookup/record_check.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/schedule_key.h"
#include "core/text/pipeline_parser.h"
#include "proto/device_conversion.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/devices/device_catalogue.h"
#include "server/records/cache_state.h"
#include "server/records/certificate.h"
#include "server/records/kernel_key.h"
#include "server/records/kernel_prediction.h"
#include "server/records/pipeline_record.h"
#include "server/records/resource_names.h"
#include "server/records/timestamp.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh {
namespace {

constexpr const char* kOtherGenerator = "OTHER_GENERATOR_VERSION";
constexpr size_t kMaxParameterBytes = 65'536;
constexpr size_t kMaxRecordNameBytes = 256;
// Kernels of a pipeline that were measured in turns, and steps of one of them.
constexpr int kMostTurns = 64;
constexpr size_t kMaxTurnBytes = 2 * kMaxParameterBytes;
// Of the year 9999, the last one that a timestamp may have.
constexpr int64_t kLastSecond = 253'402'300'799;
// A day: longer than any budget of a search.
constexpr int64_t kMaxTimeNs = 24 * 3600 * int64_t{1'000'000'000};

Result<Computation> GivenComputation(const v1::TuningRecord& given,
                                     const ExpressionLimits& limits) {
  return InField("record.expression_text", ReadPrinted(given.expression_text(), limits));
}

// Without name and times. Errors: InvalidArgument for parameters that are none; what the generator
// says.
Result<PredictedKernel> KernelOf(const Computation& computation, const DeviceDescription& device,
                                 const v1::KernelKey& key, const std::string& parameters) {
  if (const auto* const pipeline = std::get_if<Pipeline>(&computation)) {
    return PipelineKernelWithParameters(*pipeline, device, key, parameters);
  }
  MDH_ASSIGN_OR_RETURN(const TuningParameters parsed, ParseTuningParameters(parameters));
  return KernelWithParameters(std::get<Expression>(computation), device, key, parsed);
}

Status CheckField(const std::string& field, const std::string& given, const std::string& right) {
  if (given == right) return absl::OkStatus();
  return InvalidField(absl::StrCat("record.key.", field),
                      absl::StrCat("the key's ", field, " is not that of the record"));
}

// What keys have of the schedule of a key. Errors: InvalidArgument if it cannot be read.
Result<std::string> KeyTextOf(const std::string& of_key, const Computation& computation,
                              const SystemModel& model) {
  if (const auto* const pipeline = std::get_if<Pipeline>(&computation)) {
    MDH_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                         PipelineSchedule::OfKey(of_key, *pipeline, model));
    return schedule.KeyText();
  }
  MDH_ASSIGN_OR_RETURN(const Schedule schedule,
                       ScheduleOfKey(of_key, std::get<Expression>(computation), model));
  return KeyScheduleOf(schedule);
}

// Whether the schedule of a key allows what the record has.
Status CheckScheduleOfKey(const std::string& of_key, const Computation& computation,
                          const SystemModel& model, const std::string& parameters) {
  if (const auto* const pipeline = std::get_if<Pipeline>(&computation)) {
    MDH_ASSIGN_OR_RETURN(const PipelineParameters parsed, ParsePipelineParameters(parameters));
    MDH_ASSIGN_OR_RETURN(const PipelineSchedule schedule,
                         PipelineSchedule::OfKey(of_key, *pipeline, model));
    return InField("record.parameters", schedule.Allows(parsed));
  }
  MDH_ASSIGN_OR_RETURN(const TuningParameters parsed, ParseTuningParameters(parameters));
  MDH_ASSIGN_OR_RETURN(const Schedule schedule,
                       ScheduleOfKey(of_key, std::get<Expression>(computation), model));
  return InField("record.parameters", schedule.Allows(parsed));
}

// The key that the record must have.
Result<v1::KernelKey> CheckKey(const v1::KernelKey& given, const Computation& computation,
                               const DeviceDescription& device) {
  if (given.generator_version() != kGeneratorVersion) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "the result is of version ", given.generator_version(),
                          " of the generator, this daemon generates version ", kGeneratorVersion)),
                      kOtherGenerator);
  }
  if (!v1::NumericsPolicy_IsValid(given.numerics_policy()) ||
      given.numerics_policy() == v1::NUMERICS_POLICY_UNSPECIFIED) {
    return InvalidField("record.key.numerics_policy", "the key has no numerics policy");
  }
  v1::KernelKey right =
      MakeKernelKey(computation, KeyEnvironment::Of(device), given.numerics_policy());
  MDH_RETURN_IF_ERROR(
      CheckField("expression_digest", given.expression_digest(), right.expression_digest()));
  MDH_RETURN_IF_ERROR(CheckField("canonical_form", given.canonical_form(), right.canonical_form()));
  MDH_RETURN_IF_ERROR(
      CheckField("device_fingerprint", given.device_fingerprint(), right.device_fingerprint()));
  MDH_RETURN_IF_ERROR(CheckField("compiler", given.compiler(), right.compiler()));
  if (!given.schedule().empty()) {
    MDH_ASSIGN_OR_RETURN(*right.mutable_schedule(),
                         InField("record.key.schedule", KeyTextOf(given.schedule(), computation,
                                                                  TuningModel(device.kind))));
    MDH_RETURN_IF_ERROR(CheckField("schedule", given.schedule(), right.schedule()));
  }
  // Such a kernel is handed out while compilers are still looked for; as a record nobody finds it.
  if (device.kind == DeviceKind::kCpu && right.compiler().empty()) {
    return InvalidField("record.key.compiler", "a kernel that was measured has had a compiler");
  }
  return right;
}

Status CheckFigures(const v1::TuningRecord& given) {
  const std::pair<const char*, int64_t> figures[] = {
      {"time_ns", given.time_ns()},
      {"loop_nest_time_ns", given.loop_nest_time_ns()},
      {"default_time_ns", given.default_time_ns()},
      {"search_time_ns", given.search_time_ns()},
      {"trials", given.trials()},
      {"failed_trials", given.failed_trials()}};
  for (const auto& [name, figure] : figures) {
    if (figure >= 0 && figure <= kMaxTimeNs) continue;
    return InvalidField(absl::StrCat("record.", name), absl::StrCat(figure, " is out of bounds"));
  }
  if (given.total_search_time_ns() < 0) {
    return InvalidField("record.total_search_time_ns", "is negative");
  }
  if (!v1::ResultCheck_IsValid(given.result_check())) {
    return InvalidField("record.result_check", "there is no such check");
  }
  if (given.time_ns() == 0) {
    return InvalidField("record.time_ns", "a result has a time");
  }
  if (given.origin().size() > kMaxRecordNameBytes ||
      given.technique().size() > kMaxRecordNameBytes) {
    return InvalidField(
        given.origin().size() > kMaxRecordNameBytes ? "record.origin" : "record.technique",
        absl::StrCat("is longer than ", kMaxRecordNameBytes, " bytes"));
  }
  if (!v1::CacheState_IsValid(given.cache_state())) {
    return InvalidField("record.cache_state", "there is no such state of the caches");
  }
  const v1::MachinePeaks& peaks = given.peaks();
  for (const double peak :
       {peaks.fp32_flops_per_s(), peaks.fp64_flops_per_s(), peaks.memory_bytes_per_s(),
        peaks.copy_bytes_per_s(), peaks.launch_overhead_ns(), peaks.units().half_flops_per_s(),
        peaks.units().tf32_flops_per_s(), peaks.units().fp8_flops_per_s(),
        peaks.units().int8_ops_per_s(), peaks.units().fp64_flops_per_s()}) {
    if (!std::isfinite(peak) || peak < 0) return InvalidField("record.peaks", "are no figures");
  }
  return absl::OkStatus();
}

// From parameters.
Result<v1::Kernel> MakeAgain(const v1::TuningRecord& record, const ExpressionLimits& limits) {
  MDH_ASSIGN_OR_RETURN(const Computation computation, GivenComputation(record, limits));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device, FromProto(record.device()));
  MDH_ASSIGN_OR_RETURN(const v1::KernelKey key, CheckKey(record.key(), computation, device));
  MDH_ASSIGN_OR_RETURN(PredictedKernel made,
                       KernelOf(computation, device, key, record.parameters()));
  return std::move(made.kernel);
}

// Of a pipeline: those of the kernels that were measured beside it, as far as they are figures.
void TakeOverTurns(const v1::TuningRecord& given, v1::TuningRecord& record) {
  if (!HoldsPipeline(record.expression_text())) return;
  const v1::PipelineTurns& turns = given.pipeline();
  const bool has_figures =
      turns.kernels_size() <= kMostTurns && turns.unfused_time_ns() >= 0 &&
      turns.unfused_time_ns() <= kMaxTimeNs &&
      std::all_of(turns.kernels().begin(), turns.kernels().end(), [](const v1::PipelineTurn& one) {
        return one.time_ns() >= 0 && one.time_ns() <= kMaxTimeNs &&
               one.steps_size() <= kMostTurns && one.ByteSizeLong() <= kMaxTurnBytes;
      });
  if (has_figures) *record.mutable_pipeline() = turns;
}

// What is known only where it was measured.
void TakeOver(const v1::TuningRecord& given, absl::Time now, v1::TuningRecord& record) {
  record.set_time_ns(given.time_ns());
  record.set_loop_nest_time_ns(given.loop_nest_time_ns());
  record.set_default_time_ns(given.default_time_ns());
  record.set_trials(given.trials());
  record.set_failed_trials(given.failed_trials());
  record.set_search_time_ns(given.search_time_ns());
  record.set_total_search_time_ns(given.total_search_time_ns());
  record.set_is_exhausted(given.is_exhausted());
  record.set_result_check(given.result_check());
  record.set_search_end(given.search_end());
  record.set_technique(given.technique());
  record.set_seed(given.seed());
  record.set_origin(given.origin());
  record.set_cache_state(given.cache_state());
  TakeOverTurns(given, record);
  if (IsCold(given.cache_state())) record.set_fits_in_cache(false);
  if (given.has_peaks()) *record.mutable_peaks() = given.peaks();
  const google::protobuf::Timestamp& time = given.create_time();
  const bool has_time = time.seconds() > 0 && time.seconds() <= kLastSecond && time.nanos() >= 0 &&
                        time.nanos() < 1'000'000'000;
  *record.mutable_create_time() = has_time ? given.create_time() : ToProto(now);
}

}  // namespace

Result<v1::Kernel> KernelOfRecord(const std::string& id, const ExpressionLimits& limits,
                                  Store& store) {
  Result<v1::Kernel> kernel = store.GetKernel(id);
  if (!absl::IsNotFound(kernel.status())) return kernel;
  const Result<v1::TuningRecord> record = store.GetRecord(id);
  if (!record.ok()) return kernel;
  Result<v1::Kernel> made = MakeAgain(*record, limits);
  if (!made.ok()) {
    return absl::NotFoundError(
        absl::StrCat(std::string(kernel.status().message()),
                     "; it cannot be made again: ", std::string(made.status().message())));
  }
  made->set_name(KernelName(id));
  const Status stored = store.RestoreKernel(id, *made);
  spdlog::warn("kernel {} was made again from its record: {} {}", id,
               std::string(kernel.status().message()), std::string(stored.message()));
  return made;
}

bool IsOfOtherGenerator(const Status& error) {
  const auto info = DetailOf<google::rpc::ErrorInfo>(error);
  return info.has_value() && info->reason() == kOtherGenerator;
}

Result<StoredResult> CheckGivenRecord(const v1::TuningRecord& given, const ExpressionLimits& limits,
                                      Store& store, absl::Time now) {
  MDH_RETURN_IF_ERROR(CheckFigures(given));
  MDH_ASSIGN_OR_RETURN(const Computation computation, GivenComputation(given, limits));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device,
                       InField("record.device", FromProto(given.device())));
  MDH_ASSIGN_OR_RETURN(const v1::KernelKey key, CheckKey(given.key(), computation, device));
  if (given.parameters().size() > kMaxParameterBytes) {
    return InvalidField("record.parameters", "are too long");
  }
  Result<PredictedKernel> made = KernelOf(computation, device, key, given.parameters());
  if (!made.ok()) {
    return InvalidField("record.parameters", std::string(made.status().message()));
  }
  if (!key.schedule().empty()) {
    MDH_RETURN_IF_ERROR(CheckScheduleOfKey(key.schedule(), computation, TuningModel(device.kind),
                                           given.parameters()));
  }
  StoredResult result{std::move(made->record), std::move(made->kernel), /*is_given=*/true};
  TakeOver(given, now, result.record);
  const std::string id = KernelId(key);
  result.record.set_name(RecordName(id));
  result.kernel.set_name(KernelName(id));
  MDH_ASSIGN_OR_RETURN(const std::optional<v1::MachinePeaks> measured,
                       store.GetPeaks(key.device_fingerprint()));
  const MachinePeaks peaks = FromMessage(measured.value_or(given.peaks()));
  *result.record.mutable_certificate() =
      CertificateOf(computation, device, RatesOf(device, peaks), result.record);
  const auto* const expression = std::get_if<Expression>(&computation);
  // What a pipeline certainly computes depends on what is fused.
  if (expression == nullptr) return result;
  const Status plausible =
      CheckPlausible(*expression, given.time_ns(), device, measured.value_or(given.peaks()),
                     static_cast<NumericsPolicy>(key.numerics_policy()));
  if (!plausible.ok()) return InvalidField("record.time_ns", std::string(plausible.message()));
  return result;
}

}  // namespace mdh
