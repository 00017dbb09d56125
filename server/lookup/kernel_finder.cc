#include "server/lookup/kernel_finder.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/pipeline/plan/planned_expression.h"
#include "core/text/pipeline_parser.h"
#include "proto/device_conversion.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/jobs/job_request.h"
#include "server/jobs/pipeline_jobs.h"
#include "server/jobs/schedule_request.h"
#include "server/jobs/tuning_request.h"
#include "server/lookup/pipeline_kernel.h"
#include "server/lookup/record_check.h"
#include "server/records/kernel_key.h"
#include "server/records/kernel_prediction.h"
#include "server/records/pipeline_record.h"
#include "server/records/resource_names.h"
#include "server/records/similar_records.h"

namespace mdh {
namespace {

// Devices are opened after the daemon listens, which takes longer only where something hangs or the
// machine is busy. Lookups share few threads, where others wait behind them.
constexpr absl::Duration kPatience = absl::Seconds(5), kPatienceOfLookups = absl::Milliseconds(500);

// Records that a kernel may be made from.
constexpr size_t kSimilarRecords = 3;

// How a kernel that was made for `wanted` differs from the record that it was made from.
v1::LookupKernelResponse Made(PredictedKernel made, v1::MatchKind match, const v1::KernelKey& key,
                              const v1::DeviceDescription& device,
                              const std::vector<v1::TuningRecord>& similar) {
  v1::LookupKernelResponse response;
  response.set_match(match);
  *response.mutable_record() = std::move(made.record);
  *response.mutable_kernel() = std::move(made.kernel);
  response.set_made_from(made.made_from);
  response.set_provenance(made.made_from.empty() ? v1::KERNEL_PROVENANCE_RULES
                                                 : v1::KERNEL_PROVENANCE_REPAIRED);
  for (const v1::TuningRecord& record : similar) {
    if (record.name() != made.made_from) continue;
    response.set_distance(DistanceTo(record, key, device).value_or(0));
    for (v1::KeyDifference& difference : Differences(key, record.key())) {
      *response.add_differences() = std::move(difference);
    }
  }
  return response;
}

KernelFinder::Computation Of(Expression expression, v1::NumericsPolicy numerics) {
  v1::KernelKey key = KeyOfComputation(expression, numerics);
  return {std::move(expression), std::move(key)};
}

Result<v1::LookupKernelResponse> Parsed(const Result<SerializedReply>& reply) {
  if (!reply.ok()) return reply.status();
  const grpc::Slice found = reply->response();
  v1::LookupKernelResponse response;
  if (!response.ParseFromArray(found.begin(), static_cast<int>(found.size()))) {
    return absl::InternalError("a reply that was serialised ahead cannot be read");
  }
  response.set_provenance(v1::KERNEL_PROVENANCE_MEASURED);
  return response;
}

// Whether also kernels will do that were not measured.
bool MayBeMade(v1::MatchKind weakest) {
  return weakest == v1::MATCH_KIND_NEAREST || weakest == v1::MATCH_KIND_PREDICTED;
}

// Kernels that were not measured keep to no schedule.
Status CheckMeasured(const std::string& schedule, bool may_be_made) {
  if (schedule.empty() || !may_be_made) return absl::OkStatus();
  return InvalidField("schedule",
                      "kernels that were not measured keep to no schedule: ask for EXACT or "
                      "COMPATIBLE ones, without tune_in_background");
}

v1::CallStatus ToCallStatus(const Status& error) {
  v1::CallStatus status;
  // The same fields by number.
  status.ParseFromString(ToRpcStatus(error).SerializeAsString());
  return status;
}

}  // namespace

template <typename Request>
Result<KernelFinder::Computation> KernelFinder::ComputationOf(Expression expression,
                                                              const Request& request,
                                                              bool may_be_made) const {
  const auto policy = static_cast<NumericsPolicy>(request.numerics_policy());
  if (std::string why = ProductsObstacle(expression, policy); !why.empty()) {
    return InvalidField("numerics_policy", why);
  }
  Computation computation = Of(std::move(expression), request.numerics_policy());
  if (request.schedule().empty()) return computation;
  MDH_RETURN_IF_ERROR(CheckMeasured(request.schedule(), may_be_made));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device,
                       InField("device", catalogue_.Resolve(request.device())));
  MDH_ASSIGN_OR_RETURN(
      *computation.key.mutable_schedule(),
      KeyScheduleOf(request.schedule(), ComputationView(computation.expression), device));
  return computation;
}

Result<KernelFinder::Query> KernelFinder::Read(v1::LookupKernelRequest request) const {
  KeyEnvironment environment = lookup_table_.environment();
  if (request.has_device()) {
    if (!request.key().device_fingerprint().empty()) {
      return InvalidField("device", "the request has both a device and its fingerprint");
    }
    MDH_ASSIGN_OR_RETURN(const DeviceDescription device,
                         InField("device", catalogue_.Resolve(request.device())));
    environment = KeyEnvironment::Of(device);
    request.mutable_key()->set_device_fingerprint(environment.device_fingerprint);
  }
  if (!request.has_expression()) {
    if (!request.schedule().empty()) {
      return InvalidField("schedule",
                          "it has the names of the expression, which the request lacks; keys have "
                          "a schedule of their own");
    }
    v1::KernelKey key = request.key();
    return Query{std::move(request), std::nullopt, std::nullopt, std::move(key)};
  }
  if (!request.key().expression_digest().empty()) {
    return InvalidField("expression", "the request has both an expression and a digest");
  }
  MDH_ASSIGN_OR_RETURN(mdh::Computation given,
                       InField("expression", ReadComputation(request.expression(), limits_)));
  if (auto* const pipeline = std::get_if<Pipeline>(&given)) {
    MDH_RETURN_IF_ERROR(CheckMeasured(request.schedule(), request.has_tune_in_background() ||
                                                              MayBeMade(request.weakest_match())));
    return Query{std::move(request), std::nullopt, std::move(*pipeline), {}};
  }
  MDH_ASSIGN_OR_RETURN(
      Computation computation,
      ComputationOf(std::get<Expression>(std::move(given)), request,
                    request.has_tune_in_background() || MayBeMade(request.weakest_match())));
  v1::KernelKey key = CompleteKey(computation.key, {environment});
  return Query{std::move(request), std::move(computation), std::nullopt, std::move(key)};
}

Result<SerializedReply> KernelFinder::Lookup(const Query& query) const {
  if (query.pipeline) {
    const v1::MatchKind weakest = query.request.weakest_match();
    const Asked asked = {
        .device = query.request.device(),
        .numerics = query.request.numerics_policy(),
        .weakest = weakest == v1::MATCH_KIND_COMPATIBLE ? weakest : v1::MATCH_KIND_EXACT,
        .tuning = nullptr,
        .has_measured_kernel = false,
        .patience = kPatienceOfLookups,
        .schedule = query.request.schedule()};
    MDH_ASSIGN_OR_RETURN(const v1::LookupKernelResponse best,
                         Best(*query.pipeline, asked, Requester()));
    return SerializedReply(best);
  }
  Result<SerializedReply> found = lookup_table_.Find(query.key, query.request.weakest_match());
  return query.computation ? std::move(found) : InField("key", std::move(found));
}

Result<SerializedReply> KernelFinder::LookupAndTune(const Query& query,
                                                    const Requester& requester) const {
  const Asked asked = {.device = query.request.device(),
                       .numerics = query.request.numerics_policy(),
                       .weakest = v1::MATCH_KIND_PREDICTED,
                       .tuning = &query.request.tune_in_background(),
                       .has_measured_kernel = false,  // it can be had by its name
                       .patience = kPatienceOfLookups,
                       .schedule = ""};
  MDH_ASSIGN_OR_RETURN(const v1::LookupKernelResponse best,
                       query.pipeline ? Best(*query.pipeline, asked, requester)
                                      : BestPlanned(*query.computation, asked, requester));
  return SerializedReply(best);
}

Result<v1::GetKernelResponse> KernelFinder::GetBest(const v1::GetKernelRequest& request,
                                                    const Requester& requester) const {
  MDH_ASSIGN_OR_RETURN(const mdh::Computation given,
                       InField("expression", ReadComputation(request.expression(), limits_)));
  const bool is_tuning = request.has_tune_in_background();
  const Asked asked = {.device = request.device(),
                       .numerics = request.numerics_policy(),
                       .weakest = is_tuning ? v1::MATCH_KIND_PREDICTED : request.weakest_match(),
                       .tuning = is_tuning ? &request.tune_in_background() : nullptr,
                       .has_measured_kernel = true,
                       .patience = kPatience,
                       .schedule = request.schedule()};
  const auto answer = [&]() -> Result<v1::LookupKernelResponse> {
    if (const auto* const pipeline = std::get_if<Pipeline>(&given)) {
      MDH_RETURN_IF_ERROR(CheckMeasured(request.schedule(), MayBeMade(asked.weakest)));
      return Best(*pipeline, asked, requester);
    }
    MDH_ASSIGN_OR_RETURN(
        const Computation computation,
        ComputationOf(std::get<Expression>(given), request, MayBeMade(asked.weakest)));
    return BestPlanned(computation, asked, requester);
  };
  MDH_ASSIGN_OR_RETURN(v1::LookupKernelResponse best, answer());
  v1::GetKernelResponse response;
  response.set_match(best.match());
  response.mutable_record()->Swap(best.mutable_record());
  response.mutable_kernel()->Swap(best.mutable_kernel());
  response.mutable_differences()->Swap(best.mutable_differences());
  response.set_provenance(best.provenance());
  response.set_made_from(best.made_from());
  response.set_distance(best.distance());
  response.set_tuning_job(best.tuning_job());
  if (best.has_tuning_error()) *response.mutable_tuning_error() = best.tuning_error();
  if (best.has_pipeline()) response.mutable_pipeline()->Swap(best.mutable_pipeline());
  return response;
}

Result<KernelFinder::Wanted> KernelFinder::On(const Computation& computation,
                                              const Asked& asked) const {
  MDH_ASSIGN_OR_RETURN(DeviceDescription device,
                       InField("device", catalogue_.Resolve(asked.device)));
  MDH_RETURN_IF_ERROR(ReadNumericsPolicy(asked.numerics).status());
  v1::KernelKey key = CompleteKey(computation.key, {KeyEnvironment::Of(device)});
  return Wanted{computation.expression, std::move(device), std::move(key),
                asked.has_measured_kernel};
}

Result<v1::LookupKernelResponse> KernelFinder::BestPlanned(const Computation& computation,
                                                           const Asked& asked,
                                                           const Requester& requester) const {
  if (!MayBeMade(asked.weakest)) return Best(computation, asked, requester);
  const mdh::Computation planned =
      AsPlanned(computation.expression, static_cast<NumericsPolicy>(asked.numerics));
  const auto* const pipeline = std::get_if<Pipeline>(&planned);
  if (pipeline == nullptr) return Best(computation, asked, requester);
  Asked measured = asked;
  measured.weakest = v1::MATCH_KIND_EXACT;
  measured.tuning = nullptr;
  Result<v1::LookupKernelResponse> found = Best(computation, measured, requester);
  if (found.ok() && !found->record().is_provisional()) return found;
  MDH_ASSIGN_OR_RETURN(v1::LookupKernelResponse best, Best(*pipeline, asked, requester));
  // The job of the whole, which awaits the others.
  const auto& jobs = best.pipeline().tuning_jobs();
  if (!jobs.empty()) best.set_tuning_job(*jobs.rbegin());
  return best;
}

Result<v1::LookupKernelResponse> KernelFinder::Best(const Computation& computation,
                                                    const Asked& asked,
                                                    const Requester& requester) const {
  if (MayBeMade(asked.weakest) && !catalogue_.is_open()) {
    // What is stored is there at once. What is made names a compiler, and a device tunes it.
    if (const Result<Wanted> wanted = On(computation, asked); wanted.ok()) {
      Result<v1::LookupKernelResponse> found = Measured(*wanted, v1::MATCH_KIND_EXACT);
      if (found.ok() && !found->record().is_provisional()) return found;
    }
    catalogue_.AwaitOpen(asked.patience).IgnoreError();
  }
  MDH_ASSIGN_OR_RETURN(const Wanted wanted, On(computation, asked));
  Result<v1::LookupKernelResponse> best = Measured(wanted, asked.weakest);
  const bool is_miss = absl::IsNotFound(best.status());
  if (is_miss && asked.weakest == v1::MATCH_KIND_NEAREST) {
    Result<v1::LookupKernelResponse> nearest = Nearest(wanted);
    // The miss itself says more than that nothing is near.
    if (!absl::IsNotFound(nearest.status())) best = std::move(nearest);
  }
  if (is_miss && asked.weakest == v1::MATCH_KIND_PREDICTED) best = Predicted(wanted);
  if (best.ok() && asked.tuning != nullptr &&
      (best->match() != v1::MATCH_KIND_EXACT || best->record().is_provisional())) {
    Tune(wanted, *asked.tuning, requester, *best);
  }
  return best;
}

Result<v1::LookupKernelResponse> KernelFinder::Measured(const Wanted& wanted,
                                                        v1::MatchKind weakest) const {
  MDH_ASSIGN_OR_RETURN(v1::LookupKernelResponse response,
                       Parsed(lookup_table_.Find(wanted.key, weakest)));
  if (HoldsPipeline(response.record().expression_text())) {
    MDH_ASSIGN_OR_RETURN(*response.mutable_pipeline(), ExplainPipelineRecord(response.record()));
  }
  if (!wanted.has_measured_kernel) return response;
  MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(response.record().name()));
  MDH_ASSIGN_OR_RETURN(*response.mutable_kernel(), FindKernel(id));
  return response;
}

Result<v1::LookupKernelResponse> KernelFinder::MeasuredWhole(const v1::KernelKey& key,
                                                             v1::MatchKind weakest) const {
  const bool takes_compatible = weakest == v1::MATCH_KIND_COMPATIBLE;
  MDH_ASSIGN_OR_RETURN(
      v1::LookupKernelResponse response,
      Parsed(lookup_table_.Find(key, takes_compatible ? weakest : v1::MATCH_KIND_EXACT)));
  MDH_ASSIGN_OR_RETURN(*response.mutable_pipeline(), ExplainPipelineRecord(response.record()));
  MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(response.record().name()));
  MDH_ASSIGN_OR_RETURN(*response.mutable_kernel(), FindKernel(id));
  return response;
}

Result<v1::Kernel> KernelFinder::FindKernel(const std::string& id) const {
  std::optional<v1::Kernel> unsaved = jobs_.FindUnsavedKernel(id);
  if (unsaved.has_value()) return *std::move(unsaved);
  return KernelOfRecord(id, limits_, store_);
}

Result<v1::LookupKernelResponse> KernelFinder::Nearest(const Wanted& wanted) const {
  const std::vector<v1::TuningRecord> near = lookup_table_.FindNearest(wanted.key, kSimilarRecords);
  MDH_ASSIGN_OR_RETURN(PredictedKernel made,
                       AdaptKernel(wanted.expression, wanted.device, wanted.key, near));
  return Made(std::move(made), v1::MATCH_KIND_NEAREST, wanted.key, ToProto(wanted.device), near);
}

Result<v1::LookupKernelResponse> KernelFinder::Predicted(const Wanted& wanted) const {
  const v1::DeviceDescription device = ToProto(wanted.device);
  const std::vector<v1::TuningRecord> similar =
      lookup_table_.FindSimilar(wanted.key, kSimilarRecords, device);
  MDH_ASSIGN_OR_RETURN(PredictedKernel made,
                       PredictKernel(wanted.expression, wanted.device, wanted.key, similar));
  return Made(std::move(made), v1::MATCH_KIND_PREDICTED, wanted.key, device, similar);
}

Result<v1::LookupKernelResponse> KernelFinder::Best(const Pipeline& pipeline, const Asked& asked,
                                                    const Requester& requester) const {
  if (MayBeMade(asked.weakest)) catalogue_.AwaitOpen(asked.patience).IgnoreError();
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device,
                       InField("device", catalogue_.Resolve(asked.device)));
  MDH_RETURN_IF_ERROR(ReadNumericsPolicy(asked.numerics).status());
  v1::KernelKey key = MakeKernelKey(pipeline, KeyEnvironment::Of(device), asked.numerics);
  if (!asked.schedule.empty()) {
    MDH_ASSIGN_OR_RETURN(*key.mutable_schedule(), KeyScheduleOf(asked.schedule, pipeline, device));
    return MeasuredWhole(key, asked.weakest);
  }
  Result<v1::LookupKernelResponse> whole = MeasuredWhole(key, asked.weakest);
  // One that cannot be read, or made again, leaves what the records of the steps give.
  if (whole.ok()) return whole;
  const FindStep find = [&](const Expression& step, v1::MatchKind weakest) {
    const Asked of_step = {.device = asked.device,
                           .numerics = asked.numerics,
                           .weakest = weakest,
                           .tuning = nullptr,
                           .has_measured_kernel = false,
                           .patience = asked.patience,
                           .schedule = ""};
    return Best(Of(step, asked.numerics), of_step, requester);
  };
  MDH_ASSIGN_OR_RETURN(v1::LookupKernelResponse best,
                       BestOfPipeline({pipeline, device, asked.numerics, asked.weakest}, find));
  if (asked.tuning == nullptr || best.match() == v1::MATCH_KIND_EXACT) return best;
  const auto tune = [&]() -> Result<v1::CreateTuningJobResponse> {
    MDH_ASSIGN_OR_RETURN(const JobRequest request,
                         RequestFor(KeyEnvironment::Of(device).device_fingerprint, asked.numerics,
                                    *asked.tuning, requester));
    return CreatePipelineJobs(pipeline, request, catalogue_, jobs_);
  };
  const Result<v1::CreateTuningJobResponse> created = tune();
  if (!created.ok()) *best.mutable_tuning_error() = ToCallStatus(created.status());
  for (int s = 0; created.ok() && s < created->step_jobs_size(); ++s) {
    best.mutable_pipeline()->add_tuning_jobs(created->step_jobs(s).job().name());
  }
  if (created.ok()) {
    best.mutable_pipeline()->add_tuning_jobs(created->whole_job().job().name());
  }
  return best;
}

Result<JobRequest> KernelFinder::RequestFor(const std::string& device_fingerprint,
                                            v1::NumericsPolicy numerics,
                                            const v1::BackgroundTuning& tuning,
                                            const Requester& requester) const {
  MDH_RETURN_IF_ERROR(catalogue_.AwaitOpen(absl::ZeroDuration()));
  JobRequest request = {
      .options = tuning.options(), .priority = tuning.priority(), .requester = requester};
  // The policy is a part of what was asked for.
  request.options.set_numerics_policy(numerics);
  // Those of this daemon of that kind, or else those of others.
  if (!catalogue_.Choose({device_fingerprint}).ok()) {
    return absl::FailedPreconditionError("no attached device is of the kind that is meant");
  }
  request.devices.push_back(device_fingerprint);
  return request;
}

void KernelFinder::Tune(const Wanted& wanted, const v1::BackgroundTuning& tuning,
                        const Requester& requester, v1::LookupKernelResponse& response) const {
  const auto make = [&]() -> Result<v1::CreateTuningJobResponse> {
    MDH_ASSIGN_OR_RETURN(const JobRequest request,
                         RequestFor(wanted.key.device_fingerprint(), wanted.key.numerics_policy(),
                                    tuning, requester));
    MDH_ASSIGN_OR_RETURN(CreateJob create, CheckJobRequest(wanted.expression, request, catalogue_));
    return jobs_.Create(std::move(create));
  };
  const Result<v1::CreateTuningJobResponse> created = make();
  if (created.ok()) {
    response.set_tuning_job(created->job().name());
  } else {
    *response.mutable_tuning_error() = ToCallStatus(created.status());
  }
}

}  // namespace mdh
