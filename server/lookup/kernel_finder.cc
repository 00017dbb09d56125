#include "server/lookup/kernel_finder.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "proto/device_conversion.h"
#include "proto/error_details.h"
#include "server/jobs/job_request.h"
#include "server/lookup/record_check.h"
#include "server/records/kernel_key.h"
#include "server/records/kernel_prediction.h"
#include "server/records/resource_names.h"
#include "server/records/similar_records.h"

namespace mdh {
namespace {

// Devices are opened after the daemon listens, which takes longer only where something hangs or the
// machine is busy. Lookups share few threads, where others wait behind them.
constexpr absl::Duration kPatienceOfLookups = absl::Milliseconds(500);

// Records that a kernel may be made from.
constexpr size_t kSimilarRecords = 3;

// How a kernel that was made for `wanted` differs from the record that it was made from.
v1::GetKernelResponse Made(PredictedKernel made, v1::MatchKind match, const v1::KernelKey& key,
                           const v1::DeviceDescription& device,
                           const std::vector<v1::TuningRecord>& similar) {
  v1::GetKernelResponse response;
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

v1::CallStatus ToCallStatus(const Status& error) {
  v1::CallStatus status;
  // The same fields by number.
  status.ParseFromString(ToRpcStatus(error).SerializeAsString());
  return status;
}

}  // namespace

Result<ReadyReply> KernelFinder::Lookup(v1::LookupKernelRequest request) const {
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
    return InField("key", lookup_table_.Find(request.key(), request.weakest_match()));
  }
  if (!request.key().expression_digest().empty()) {
    return InvalidField("expression", "the request has both an expression and a digest");
  }
  MDH_ASSIGN_OR_RETURN(const Expression expression,
                       InField("expression", FromProto(request.expression(), limits_)));
  return lookup_table_.Find(MakeKernelKey(expression, environment, request.numerics_policy()),
                            request.weakest_match());
}

Result<ReadyReply> KernelFinder::LookupAndTune(const v1::LookupKernelRequest& request,
                                               const Requester& requester) const {
  v1::GetKernelRequest wanted;
  *wanted.mutable_expression() = request.expression();
  if (request.has_device()) *wanted.mutable_device() = request.device();
  wanted.set_numerics_policy(request.numerics_policy());
  *wanted.mutable_tune_in_background() = request.tune_in_background();
  MDH_ASSIGN_OR_RETURN(v1::GetKernelResponse best, GetBest(wanted, requester, kPatienceOfLookups));
  v1::LookupKernelResponse response;
  response.set_match(best.match());
  response.mutable_record()->Swap(best.mutable_record());
  response.mutable_differences()->Swap(best.mutable_differences());
  response.set_provenance(best.provenance());
  response.set_made_from(best.made_from());
  response.set_distance(best.distance());
  response.set_tuning_job(best.tuning_job());
  if (best.has_tuning_error()) *response.mutable_tuning_error() = best.tuning_error();
  // A measured one can be had by its name.
  if (best.kernel().name().empty()) response.mutable_kernel()->Swap(best.mutable_kernel());
  return ReadyReply(response);
}

Result<v1::GetKernelResponse> KernelFinder::GetBest(const v1::GetKernelRequest& request,
                                                    const Requester& requester,
                                                    absl::Duration patience) const {
  const bool may_be_made = request.has_tune_in_background() ||
                           request.weakest_match() == v1::MATCH_KIND_NEAREST ||
                           request.weakest_match() == v1::MATCH_KIND_PREDICTED;
  if (may_be_made && !catalogue_.is_open()) {
    // What is stored is there at once. What is made names a compiler, and a device tunes it.
    v1::GetKernelRequest stored = request;
    stored.clear_tune_in_background();
    stored.set_weakest_match(v1::MATCH_KIND_EXACT);
    Result<v1::GetKernelResponse> found = GetBest(stored, requester);
    if (found.ok() && !found->record().is_provisional()) return found;
    catalogue_.AwaitOpen(patience).IgnoreError();
  }
  MDH_ASSIGN_OR_RETURN(const Expression expression,
                       InField("expression", FromProto(request.expression(), limits_)));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device,
                       InField("device", catalogue_.Resolve(request.device())));
  if (!v1::NumericsPolicy_IsValid(request.numerics_policy())) {
    return InvalidField("numerics_policy",
                        absl::StrCat("there is no numerics policy number ",
                                     static_cast<int>(request.numerics_policy())));
  }
  const v1::KernelKey key =
      MakeKernelKey(expression, KeyEnvironment::Of(device), request.numerics_policy());
  const Wanted wanted = {expression, device, key};
  const bool is_tuning = request.has_tune_in_background();
  const v1::MatchKind weakest = is_tuning ? v1::MATCH_KIND_PREDICTED : request.weakest_match();
  Result<v1::GetKernelResponse> best = Measured(wanted, weakest);
  const bool is_miss = absl::IsNotFound(best.status());
  if (is_miss && weakest == v1::MATCH_KIND_NEAREST) {
    Result<v1::GetKernelResponse> nearest = Nearest(wanted);
    // The miss itself says more than that nothing is near.
    if (!absl::IsNotFound(nearest.status())) best = std::move(nearest);
  }
  if (is_miss && weakest == v1::MATCH_KIND_PREDICTED) best = Predicted(wanted);
  if (best.ok() && is_tuning &&
      (best->match() != v1::MATCH_KIND_EXACT || best->record().is_provisional())) {
    Tune(wanted, request.tune_in_background(), requester, *best);
  }
  return best;
}

Result<v1::GetKernelResponse> KernelFinder::Measured(const Wanted& wanted,
                                                     v1::MatchKind weakest) const {
  MDH_ASSIGN_OR_RETURN(const ReadyReply reply, lookup_table_.Find(wanted.key, weakest));
  const grpc::Slice found = reply.response();
  v1::LookupKernelResponse lookup;
  if (!lookup.ParseFromArray(found.begin(), static_cast<int>(found.size()))) {
    return absl::InternalError("a reply that was serialised ahead cannot be read");
  }
  v1::GetKernelResponse response;
  response.set_match(lookup.match());
  response.set_provenance(v1::KERNEL_PROVENANCE_MEASURED);
  *response.mutable_record() = std::move(*lookup.mutable_record());
  response.mutable_differences()->Swap(lookup.mutable_differences());
  MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(response.record().name()));
  MDH_ASSIGN_OR_RETURN(*response.mutable_kernel(), FindKernel(id));
  return response;
}

Result<v1::Kernel> KernelFinder::FindKernel(const std::string& id) const {
  std::optional<v1::Kernel> unsaved = jobs_.FindUnsavedKernel(id);
  if (unsaved.has_value()) return *std::move(unsaved);
  return KernelOfRecord(id, limits_, store_);
}

Result<v1::GetKernelResponse> KernelFinder::Nearest(const Wanted& wanted) const {
  const std::vector<v1::TuningRecord> near = lookup_table_.FindNearest(wanted.key, kSimilarRecords);
  MDH_ASSIGN_OR_RETURN(PredictedKernel made,
                       AdaptKernel(wanted.expression, wanted.device, wanted.key, near));
  return Made(std::move(made), v1::MATCH_KIND_NEAREST, wanted.key, ToProto(wanted.device), near);
}

Result<v1::GetKernelResponse> KernelFinder::Predicted(const Wanted& wanted) const {
  const v1::DeviceDescription device = ToProto(wanted.device);
  const std::vector<v1::TuningRecord> similar =
      lookup_table_.FindSimilar(wanted.key, kSimilarRecords, device);
  MDH_ASSIGN_OR_RETURN(PredictedKernel made,
                       PredictKernel(wanted.expression, wanted.device, wanted.key, similar));
  return Made(std::move(made), v1::MATCH_KIND_PREDICTED, wanted.key, device, similar);
}

Result<v1::TuningJob> KernelFinder::MakeJob(const Wanted& wanted,
                                            const v1::BackgroundTuning& tuning,
                                            const Requester& requester) const {
  MDH_RETURN_IF_ERROR(catalogue_.AwaitOpen(absl::ZeroDuration()));
  JobRequest request = {
      .options = tuning.options(), .priority = tuning.priority(), .requester = requester};
  // The policy is a part of what was asked for.
  request.options.set_numerics_policy(wanted.key.numerics_policy());
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    if (device->fingerprint() == wanted.key.device_fingerprint()) {
      request.devices.push_back(device->name());
    }
  }
  if (request.devices.empty()) {
    return absl::FailedPreconditionError("no attached device is of the kind that is meant");
  }
  MDH_ASSIGN_OR_RETURN(CreateJob create, CheckJobRequest(wanted.expression, request, catalogue_));
  MDH_ASSIGN_OR_RETURN(v1::CreateTuningJobResponse created, jobs_.Create(std::move(create)));
  return std::move(*created.mutable_job());
}

void KernelFinder::Tune(const Wanted& wanted, const v1::BackgroundTuning& tuning,
                        const Requester& requester, v1::GetKernelResponse& response) const {
  Result<v1::TuningJob> job = MakeJob(wanted, tuning, requester);
  if (job.ok()) {
    response.set_tuning_job(job->name());
  } else {
    *response.mutable_tuning_error() = ToCallStatus(job.status());
  }
}

}  // namespace mdh
