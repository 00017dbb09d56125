#include "client/client.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/channel.h"
#include "client/read_cursor.h"
#include "client/wait_for_job.h"
#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
#include "mdh/v1/candidate.grpc.pb.h"
#include "mdh/v1/device.grpc.pb.h"
#include "mdh/v1/kernel.grpc.pb.h"
#include "mdh/v1/study.grpc.pb.h"
#include "mdh/v1/tuning.grpc.pb.h"
#include "proto/error_details.h"
#include "proto/grpc_status.h"
#include "proto/pipeline_conversion.h"

namespace mdh {
namespace {

constexpr int64_t kListDevicesLimitNs = 180'000'000'000;
constexpr std::string_view kRecords = "records/";

using Kernels = v1::KernelService::Stub;
using Tuning = v1::TuningService::Stub;
using Devices = v1::DeviceService::Stub;
using Studies = v1::StudyService::Stub;
using Candidates = v1::CandidateService::Stub;

// 128 bits.
std::string RandomId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(), random());
}

bool IsGiven(const v1::DeviceSelection& device) {
  return device.device_case() != v1::DeviceSelection::DEVICE_NOT_SET;
}

v1::BackgroundTuning TuningToProto(const BackgroundTuning& tuning) {
  v1::BackgroundTuning proto;
  proto.mutable_options()->set_budget_ns(tuning.budget_ns);
  proto.set_priority(tuning.priority);
  proto.set_source(tuning.source);
  return proto;
}

// A request for the kernel or the record of a computation.
template <typename Request>
Request RequestFor(const ComputationView& computation, const v1::DeviceSelection& device,
                   v1::NumericsPolicy numerics_policy) {
  Request request;
  *request.mutable_expression() = ToProto(computation);
  request.set_numerics_policy(numerics_policy);
  if (IsGiven(device)) *request.mutable_device() = device;
  return request;
}

// What a lookup of a batch failed with.
Status ErrorOfLookup(const v1::BatchLookupResult& result) {
  google::rpc::Status error;  // the same fields by number
  error.ParseFromString(result.error().SerializeAsString());
  return FromRpcStatus(error);
}

}  // namespace

class Client::Services : public ServiceStubs<Kernels, Tuning, Devices, Studies, Candidates> {
 public:
  using ServiceStubs::ServiceStubs;

  // What was heard of; thread-safe.
  ReadCursor& cursor() const { return cursor_; }
  // Calls a method whose answer is to be as new as what was heard of; one that cannot be is better
  // than none.
  template <typename Request, typename Response>
  Result<Response> Read(grpc::Status (Kernels::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                        Request request) const {
    const std::string cursor = cursor_.Get();
    SetCursor(request, cursor);
    Result<Response> response = Call(method, request);
    if (cursor.empty() || !IsRefused(response)) return response;
    cursor_.Forget(cursor);
    SetCursor(request, "");
    return Call(method, request);
  }

 private:
  template <typename Request>
  static void SetCursor(Request& request, const std::string& cursor) {
    request.set_min_cursor(cursor);
  }
  static void SetCursor(v1::BatchLookupKernelsRequest& batch, const std::string& cursor) {
    for (v1::LookupKernelRequest& request : *batch.mutable_requests()) SetCursor(request, cursor);
  }
  template <typename Response>
  static bool IsRefused(const Result<Response>& response) {
    return ReadCursor::IsReason(response.status());
  }
  static bool IsRefused(const Result<v1::BatchLookupKernelsResponse>& batch) {
    if (!batch.ok()) return ReadCursor::IsReason(batch.status());
    return std::any_of(batch->results().begin(), batch->results().end(), [](const auto& result) {
      return result.has_error() && ReadCursor::IsReason(ErrorOfLookup(result));
    });
  }

  mutable ReadCursor cursor_;
};

Client::Client(std::unique_ptr<const Services> services) : services_(std::move(services)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::Connect(const std::string& target,
                                                const ClientOptions& options) {
  MDH_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                       ConnectChannel(target, options));
  return std::unique_ptr<Client>(new Client(std::make_unique<const Services>(
      v1::KernelService::NewStub(channel), v1::TuningService::NewStub(channel),
      v1::DeviceService::NewStub(channel), v1::StudyService::NewStub(channel),
      v1::CandidateService::NewStub(channel), options.call_limit_ns)));
}

void Client::MustHaveSeen(const std::string& min_cursor) { services_->cursor().Note(min_cursor); }

Result<v1::LookupKernelResponse> Client::Lookup(const v1::KernelKey& key,
                                                v1::MatchKind weakest_match,
                                                const v1::DeviceSelection& device) {
  v1::LookupKernelRequest request;
  *request.mutable_key() = key;
  request.set_weakest_match(weakest_match);
  if (IsGiven(device)) *request.mutable_device() = device;
  return services_->Read(&Kernels::LookupKernel, request);
}

Result<v1::LookupKernelResponse> Client::LookupScheduled(const ComputationView& computation,
                                                         const std::string& schedule,
                                                         v1::MatchKind weakest_match,
                                                         const v1::DeviceSelection& device,
                                                         v1::NumericsPolicy numerics_policy) {
  auto request = RequestFor<v1::LookupKernelRequest>(computation, device, numerics_policy);
  request.set_weakest_match(weakest_match);
  request.set_schedule(schedule);
  return services_->Read(&Kernels::LookupKernel, request);
}

Result<v1::LookupKernelResponse> Client::Lookup(const Pipeline& pipeline,
                                                v1::MatchKind weakest_match,
                                                const v1::DeviceSelection& device,
                                                v1::NumericsPolicy numerics_policy) {
  auto request = RequestFor<v1::LookupKernelRequest>(pipeline, device, numerics_policy);
  request.set_weakest_match(weakest_match);
  return services_->Read(&Kernels::LookupKernel, request);
}

Result<v1::LookupKernelResponse> Client::LookupAndTune(const ComputationView& computation,
                                                       const BackgroundTuning& tuning,
                                                       const v1::DeviceSelection& device,
                                                       v1::NumericsPolicy numerics_policy) {
  auto request = RequestFor<v1::LookupKernelRequest>(computation, device, numerics_policy);
  *request.mutable_tune_in_background() = TuningToProto(tuning);
  return services_->Read(&Kernels::LookupKernel, request);
}

Result<std::vector<Result<v1::LookupKernelResponse>>> Client::BatchLookup(
    const std::vector<v1::KernelKey>& keys, v1::MatchKind weakest_match) {
  v1::BatchLookupKernelsRequest request;
  for (const v1::KernelKey& key : keys) {
    v1::LookupKernelRequest* one = request.add_requests();
    *one->mutable_key() = key;
    one->set_weakest_match(weakest_match);
  }
  MDH_ASSIGN_OR_RETURN(v1::BatchLookupKernelsResponse response,
                       services_->Read(&Kernels::BatchLookupKernels, request));
  std::vector<Result<v1::LookupKernelResponse>> results;
  for (v1::BatchLookupResult& result : *response.mutable_results()) {
    if (result.has_response()) {
      results.emplace_back(std::move(*result.mutable_response()));
      continue;
    }
    results.emplace_back(ErrorOfLookup(result));
  }
  return results;
}

Status Client::WatchKernels(const std::string& cursor, const OnKernelChanges& on_changes,
                            std::stop_token stop) {
  v1::WatchKernelsRequest request;
  request.set_cursor(cursor);
  grpc::ClientContext context;
  const std::stop_callback cancel(std::move(stop), [&context] { context.TryCancel(); });
  const auto reader = services_->stub<Kernels>().WatchKernels(&context, request);
  v1::WatchKernelsResponse response;
  bool wants_more = true;
  while (wants_more && reader->Read(&response)) {
    services_->cursor().Note(response.min_cursor());
    wants_more = on_changes(response);
  }
  if (!wants_more) context.TryCancel();
  const Status end = FromGrpcStatus(reader->Finish());
  return wants_more ? end : absl::OkStatus();
}

Result<v1::Kernel> Client::GetKernel(const std::string& name) {
  const bool is_record = name.starts_with(kRecords);
  return Part(services_->Read(&Kernels::GetKernel,
                              Named<v1::GetKernelRequest>(
                                  is_record ? "kernels/" + name.substr(kRecords.size()) : name)),
              &v1::GetKernelResponse::mutable_kernel);
}

Result<v1::GetKernelResponse> Client::GetKernelAndTune(const ComputationView& computation,
                                                       const v1::DeviceSelection& device,
                                                       const BackgroundTuning& tuning,
                                                       v1::NumericsPolicy numerics_policy) {
  auto request = RequestFor<v1::GetKernelRequest>(computation, device, numerics_policy);
  *request.mutable_tune_in_background() = TuningToProto(tuning);
  return services_->Read(&Kernels::GetKernel, request);
}

Result<v1::GetKernelResponse> Client::GetBestKernel(const ComputationView& computation,
                                                    const v1::DeviceSelection& device,
                                                    v1::MatchKind weakest_match,
                                                    v1::NumericsPolicy numerics_policy,
                                                    const std::string& schedule) {
  auto request = RequestFor<v1::GetKernelRequest>(computation, device, numerics_policy);
  request.set_weakest_match(weakest_match);
  request.set_schedule(schedule);
  return services_->Read(&Kernels::GetKernel, request);
}

Result<v1::CreateTuningJobResponse> Client::CreateJob(const ComputationView& computation,
                                                      const TuneOptions& options) {
  v1::CreateTuningJobRequest request;
  *request.mutable_expression() = ToProto(computation);
  request.mutable_options()->set_budget_ns(options.budget_ns);
  request.mutable_options()->set_max_trials(options.max_trials);
  request.mutable_options()->set_seed(options.seed);
  request.mutable_options()->set_technique(options.technique);
  request.mutable_options()->set_numerics_policy(options.numerics_policy);
  request.mutable_options()->set_tolerance(options.tolerance);
  request.mutable_options()->set_cache_state(options.cache_state);
  request.mutable_options()->set_gap(options.gap);
  request.mutable_options()->set_without_cut(options.without_cut);
  request.mutable_options()->set_schedule(options.schedule);
  request.mutable_options()->mutable_restrictions()->Add(options.restrictions.begin(),
                                                         options.restrictions.end());
  request.set_force(options.force);
  request.set_request_id(options.request_id.empty() ? RandomId() : options.request_id);
  for (const std::string& device : options.devices) request.add_devices(device);
  request.set_source(options.source);
  request.set_priority(options.priority);
  request.mutable_options()->set_max_device_time_ns(options.max_device_time_ns);
  request.set_validate_only(options.validate_only);
  Result<v1::CreateTuningJobResponse> created = services_->Call(&Tuning::CreateTuningJob, request);
  if (!created.ok()) return created;
  // Of jobs that have ended already.
  services_->cursor().Note(created->job().min_cursor());
  services_->cursor().Note(created->whole_job().job().min_cursor());
  for (const v1::PipelineStepJob& step : created->step_jobs()) {
    services_->cursor().Note(step.job().min_cursor());
  }
  return created;
}

Result<v1::CheckScheduleResponse> Client::CheckSchedule(const ComputationView& computation,
                                                        const std::string& schedule,
                                                        const v1::DeviceSelection& device,
                                                        v1::NumericsPolicy numerics_policy,
                                                        const std::string& vary) {
  auto request = RequestFor<v1::CheckScheduleRequest>(computation, device, numerics_policy);
  request.set_schedule(schedule);
  request.set_vary(vary);
  return services_->Call(&Tuning::CheckSchedule, request);
}

Result<v1::DescribeCandidateResponse> Client::DescribeCandidate(
    const v1::Candidate& candidate, const std::optional<v1::BoundComparison>& comparison) {
  v1::DescribeCandidateRequest request;
  *request.mutable_candidate() = candidate;
  if (comparison) *request.mutable_comparison() = *comparison;
  return services_->Call(&Candidates::DescribeCandidate, request);
}

Result<v1::FinishCandidateResponse> Client::FinishCandidate(const v1::Candidate& candidate,
                                                            v1::FinishRule by, uint64_t seed) {
  v1::FinishCandidateRequest request;
  *request.mutable_candidate() = candidate;
  request.set_by(by);
  request.set_seed(seed);
  return services_->Call(&Candidates::FinishCandidate, request);
}

Status Client::Watch(const std::string& name, int64_t after_sequence, const OnProgress& on_progress,
                     int64_t limit_ns) {
  v1::WatchTuningJobRequest request;
  request.set_name(name);
  request.set_after_sequence(after_sequence);
  grpc::ClientContext context;
  if (limit_ns > 0) context.set_deadline(After(limit_ns));
  const auto reader = services_->stub<Tuning>().WatchTuningJob(&context, request);
  v1::WatchTuningJobResponse response;
  while (reader->Read(&response)) {
    if (on_progress) on_progress(response.progress());
  }
  return FromGrpcStatus(reader->Finish());
}

Result<v1::GetTuningJobResponse> Client::GetJob(const std::string& name) {
  Result<v1::GetTuningJobResponse> found =
      services_->Call(&Tuning::GetTuningJob, Named<v1::GetTuningJobRequest>(name));
  if (found.ok()) services_->cursor().Note(found->job().min_cursor());
  return found;
}

Result<v1::ListTuningJobsResponse> Client::ListJobs(int page_size, const std::string& page_token) {
  return ListJobs(Page<v1::ListTuningJobsRequest>(page_size, page_token));
}

Result<v1::ListTuningJobsResponse> Client::ListJobs(const v1::ListTuningJobsRequest& request,
                                                    int64_t limit_ns) {
  return services_->Call(&Tuning::ListTuningJobs, request, limit_ns);
}

Result<v1::ListTuningTrialsResponse> Client::ListTuningTrials(const std::string& name,
                                                              int page_size,
                                                              const std::string& page_token) {
  return services_->Call(&Tuning::ListTuningTrials,
                         Page(page_size, page_token, Named<v1::ListTuningTrialsRequest>(name)));
}

Result<v1::TuningJob> Client::Pause(const std::string& name) {
  return Part(services_->Call(&Tuning::PauseTuningJob, Named<v1::PauseTuningJobRequest>(name)),
              &v1::PauseTuningJobResponse::mutable_job);
}

Result<v1::TuningJob> Client::Resume(const std::string& name) {
  return Part(services_->Call(&Tuning::ResumeTuningJob, Named<v1::ResumeTuningJobRequest>(name)),
              &v1::ResumeTuningJobResponse::mutable_job);
}

Result<v1::TuningJob> Client::Cancel(const std::string& name) {
  return Part(services_->Call(&Tuning::CancelTuningJob, Named<v1::CancelTuningJobRequest>(name)),
              &v1::CancelTuningJobResponse::mutable_job);
}

Result<v1::ListDevicesResponse> Client::ListDevices() {
  return services_->Call(&Devices::ListDevices, {}, kListDevicesLimitNs);
}

Result<v1::Device> Client::GetDevice(const std::string& name) {
  return Part(
      services_->Call(&Devices::GetDevice, Named<v1::GetDeviceRequest>(name), kListDevicesLimitNs),
      &v1::GetDeviceResponse::mutable_device);
}

Result<v1::ListKnownDevicesResponse> Client::ListKnownDevices() {
  return services_->Call(&Devices::ListKnownDevices, {});
}

Result<v1::Study> Client::CreateStudy(const v1::CreateStudyRequest& request) {
  return Part(services_->Call(&Studies::CreateStudy, request),
              &v1::CreateStudyResponse::mutable_study);
}

Result<v1::Study> Client::GetStudy(const std::string& name) {
  return Part(services_->Call(&Studies::GetStudy, Named<v1::GetStudyRequest>(name)),
              &v1::GetStudyResponse::mutable_study);
}

Result<v1::ListStudiesResponse> Client::ListStudies(int page_size, const std::string& page_token) {
  return services_->Call(&Studies::ListStudies,
                         Page<v1::ListStudiesRequest>(page_size, page_token));
}

Result<v1::AskTrialsResponse> Client::AskTrials(const std::string& name, int count,
                                                int64_t lease_ns) {
  auto request = Named<v1::AskTrialsRequest>(name);
  request.set_count(count);
  if (lease_ns != 0) {
    *request.mutable_lease() = google::protobuf::util::TimeUtil::NanosecondsToDuration(lease_ns);
  }
  return services_->Call(&Studies::AskTrials, request);
}

Result<v1::Study> Client::TellTrials(const v1::TellTrialsRequest& request) {
  return Part(services_->Call(&Studies::TellTrials, request),
              &v1::TellTrialsResponse::mutable_study);
}

Result<v1::ListTrialsResponse> Client::ListTrials(const std::string& name, int page_size,
                                                  const std::string& page_token) {
  return services_->Call(&Studies::ListTrials,
                         Page(page_size, page_token, Named<v1::ListTrialsRequest>(name)));
}

Result<v1::Study> Client::CancelStudy(const std::string& name) {
  return Part(services_->Call(&Studies::CancelStudy, Named<v1::CancelStudyRequest>(name)),
              &v1::CancelStudyResponse::mutable_study);
}

Status Client::DeleteStudy(const std::string& name) {
  return services_->Call(&Studies::DeleteStudy, Named<v1::DeleteStudyRequest>(name)).status();
}

std::vector<std::string> JobsOf(const v1::CreateTuningJobResponse& created) {
  std::vector<std::string> names;
  // Of an expression that is searched in steps it is the whole job.
  if (created.has_job() && !created.has_whole_job()) names.push_back(created.job().name());
  for (const v1::PipelineStepJob& step : created.step_jobs()) names.push_back(step.job().name());
  // Daemons of earlier versions measure no whole kernels.
  if (created.has_whole_job()) names.push_back(created.whole_job().job().name());
  return names;
}

v1::KernelKey Client::KeyOf(const ComputationView& computation,
                            v1::NumericsPolicy numerics_policy) {
  v1::KernelKey key;
  key.set_numerics_policy(numerics_policy);
  key.set_canonical_form(computation.pipeline() != nullptr
                             ? CanonicalForm(*computation.pipeline())
                             : CanonicalForm(*computation.expression()));
  key.set_expression_digest(Sha256Hex(key.canonical_form()));
  return key;
}

Result<v1::TuningRecord> Client::Tune(const Expression& expression, const TuneOptions& options,
                                      const OnProgress& on_progress) {
  MDH_ASSIGN_OR_RETURN(const v1::CreateTuningJobResponse created, CreateJob(expression, options));
  MDH_ASSIGN_OR_RETURN(v1::GetTuningJobResponse ended,
                       WaitForJob(*this, created.job().name(), {}, on_progress));
  MDH_RETURN_IF_ERROR(ErrorOf(ended.job()));
  return std::move(*ended.mutable_record());
}

Result<v1::GetKernelResponse> Client::Tune(const Pipeline& pipeline, const TuneOptions& options,
                                           const OnProgress& on_progress) {
  MDH_ASSIGN_OR_RETURN(const v1::CreateTuningJobResponse created, CreateJob(pipeline, options));
  v1::DeviceSelection device;
  if (!options.devices.empty()) device.set_name(options.devices.front());
  for (const std::string& job : JobsOf(created)) {
    MDH_ASSIGN_OR_RETURN(const v1::GetTuningJobResponse ended,
                         WaitForJob(*this, job, {}, on_progress));
    MDH_RETURN_IF_ERROR(ErrorOf(ended.job()));
    // The first of all devices of a kind stands for them.
    if (ended.job().devices_size() > 0) device.set_name(ended.job().devices(0));
  }
  return GetBestKernel(pipeline, device, v1::MATCH_KIND_EXACT, options.numerics_policy,
                       options.schedule);
}

}  // namespace mdh
