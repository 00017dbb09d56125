#include "client/client.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/channel.h"
#include "client/wait_for_job.h"
#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
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

class GrpcClient : public Client {
 public:
  GrpcClient(const std::shared_ptr<grpc::Channel>& channel, const ClientOptions& options)
      : options_(options),
        kernels_(v1::KernelService::NewStub(channel)),
        tuning_(v1::TuningService::NewStub(channel)),
        devices_(v1::DeviceService::NewStub(channel)),
        studies_(v1::StudyService::NewStub(channel)) {}

  Result<v1::LookupKernelResponse> Lookup(const v1::KernelKey& key, v1::MatchKind weakest_match,
                                          const v1::DeviceSelection& device) override;
  Result<v1::LookupKernelResponse> Lookup(const Pipeline& pipeline, v1::MatchKind weakest_match,
                                          const v1::DeviceSelection& device,
                                          v1::NumericsPolicy numerics_policy) override;
  Result<v1::LookupKernelResponse> LookupAndTune(const ComputationView& computation,
                                                 const BackgroundTuning& tuning,
                                                 const v1::DeviceSelection& device,
                                                 v1::NumericsPolicy numerics_policy) override;
  Result<std::vector<Result<v1::LookupKernelResponse>>> BatchLookup(
      const std::vector<v1::KernelKey>& keys, v1::MatchKind weakest_match) override;
  Status WatchKernels(const std::string& cursor, const OnKernelChanges& on_changes,
                      std::stop_token stop) override;
  Result<v1::GetKernelResponse> GetKernelAndTune(const ComputationView& computation,
                                                 const v1::DeviceSelection& device,
                                                 const BackgroundTuning& tuning,
                                                 v1::NumericsPolicy numerics_policy) override;
  Result<v1::GetKernelResponse> GetBestKernel(const ComputationView& computation,
                                              const v1::DeviceSelection& device,
                                              v1::MatchKind weakest_match,
                                              v1::NumericsPolicy numerics_policy) override;
  Result<v1::Kernel> GetKernel(const std::string& name) override;
  Result<v1::CreateTuningJobResponse> CreateJob(const ComputationView& computation,
                                                const TuneOptions& options) override;
  Status Watch(const std::string& name, int64_t after_sequence, const OnProgress& on_progress,
               int64_t limit_ns) override;
  Result<v1::GetTuningJobResponse> GetJob(const std::string& name) override;
  Result<v1::ListTuningJobsResponse> ListJobs(int page_size,
                                              const std::string& page_token) override;
  Result<v1::ListTuningJobsResponse> ListJobs(const v1::ListTuningJobsRequest& request) override;
  Result<v1::ListTuningTrialsResponse> ListTuningTrials(const std::string& name, int page_size,
                                                        const std::string& page_token) override;
  Result<v1::TuningJob> Pause(const std::string& name) override;
  Result<v1::TuningJob> Resume(const std::string& name) override;
  Result<v1::TuningJob> Cancel(const std::string& name) override;
  Result<v1::ListDevicesResponse> ListDevices() override;
  Result<v1::Device> GetDevice(const std::string& name) override;
  Result<v1::ListKnownDevicesResponse> ListKnownDevices() override;
  Result<v1::Study> CreateStudy(const v1::CreateStudyRequest& request) override;
  Result<v1::Study> GetStudy(const std::string& name) override;
  Result<v1::ListStudiesResponse> ListStudies(int page_size,
                                              const std::string& page_token) override;
  Result<v1::AskTrialsResponse> AskTrials(const std::string& name, int count,
                                          int64_t lease_ns) override;
  Result<v1::Study> TellTrials(const v1::TellTrialsRequest& request) override;
  Result<v1::ListTrialsResponse> ListTrials(const std::string& name, int page_size,
                                            const std::string& page_token) override;
  Result<v1::Study> CancelStudy(const std::string& name) override;
  Status DeleteStudy(const std::string& name) override;

 private:
  const ClientOptions options_;
  const std::unique_ptr<v1::KernelService::Stub> kernels_;
  const std::unique_ptr<v1::TuningService::Stub> tuning_;
  const std::unique_ptr<v1::DeviceService::Stub> devices_;
  const std::unique_ptr<v1::StudyService::Stub> studies_;
};

// 128 bits.
std::string RandomId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(), random());
}

bool IsGiven(const v1::DeviceSelection& device) {
  return device.device_case() != v1::DeviceSelection::DEVICE_NOT_SET;
}

Result<v1::LookupKernelResponse> GrpcClient::Lookup(const v1::KernelKey& key,
                                                    v1::MatchKind weakest_match,
                                                    const v1::DeviceSelection& device) {
  v1::LookupKernelRequest request;
  *request.mutable_key() = key;
  request.set_weakest_match(weakest_match);
  if (IsGiven(device)) *request.mutable_device() = device;
  return CallMethod(*kernels_, &v1::KernelService::Stub::LookupKernel, request,
                    options_.call_limit_ns);
}

Result<v1::LookupKernelResponse> GrpcClient::Lookup(const Pipeline& pipeline,
                                                    v1::MatchKind weakest_match,
                                                    const v1::DeviceSelection& device,
                                                    v1::NumericsPolicy numerics_policy) {
  v1::LookupKernelRequest request;
  *request.mutable_expression() = ToProto(ComputationView(pipeline));
  request.set_weakest_match(weakest_match);
  request.set_numerics_policy(numerics_policy);
  if (IsGiven(device)) *request.mutable_device() = device;
  return CallMethod(*kernels_, &v1::KernelService::Stub::LookupKernel, request,
                    options_.call_limit_ns);
}

v1::BackgroundTuning TuningToProto(const BackgroundTuning& tuning) {
  v1::BackgroundTuning proto;
  proto.mutable_options()->set_budget_ns(tuning.budget_ns);
  proto.set_priority(tuning.priority);
  proto.set_source(tuning.source);
  return proto;
}

Result<v1::LookupKernelResponse> GrpcClient::LookupAndTune(const ComputationView& computation,
                                                           const BackgroundTuning& tuning,
                                                           const v1::DeviceSelection& device,
                                                           v1::NumericsPolicy numerics_policy) {
  v1::LookupKernelRequest request;
  *request.mutable_expression() = ToProto(computation);
  request.set_numerics_policy(numerics_policy);
  if (IsGiven(device)) *request.mutable_device() = device;
  *request.mutable_tune_in_background() = TuningToProto(tuning);
  return CallMethod(*kernels_, &v1::KernelService::Stub::LookupKernel, request,
                    options_.call_limit_ns);
}

Result<std::vector<Result<v1::LookupKernelResponse>>> GrpcClient::BatchLookup(
    const std::vector<v1::KernelKey>& keys, v1::MatchKind weakest_match) {
  v1::BatchLookupKernelsRequest request;
  for (const v1::KernelKey& key : keys) {
    v1::LookupKernelRequest* one = request.add_requests();
    *one->mutable_key() = key;
    one->set_weakest_match(weakest_match);
  }
  MDH_ASSIGN_OR_RETURN(v1::BatchLookupKernelsResponse response,
                       CallMethod(*kernels_, &v1::KernelService::Stub::BatchLookupKernels, request,
                                  options_.call_limit_ns));
  std::vector<Result<v1::LookupKernelResponse>> results;
  for (v1::BatchLookupResult& result : *response.mutable_results()) {
    if (result.has_response()) {
      results.emplace_back(std::move(*result.mutable_response()));
      continue;
    }
    google::rpc::Status error;  // the same fields by number
    error.ParseFromString(result.error().SerializeAsString());
    results.emplace_back(FromRpcStatus(error));
  }
  return results;
}

Status GrpcClient::WatchKernels(const std::string& cursor, const OnKernelChanges& on_changes,
                                std::stop_token stop) {
  v1::WatchKernelsRequest request;
  request.set_cursor(cursor);
  grpc::ClientContext context;
  const std::stop_callback cancel(std::move(stop), [&context] { context.TryCancel(); });
  const auto reader = kernels_->WatchKernels(&context, request);
  v1::WatchKernelsResponse response;
  bool wants_more = true;
  while (wants_more && reader->Read(&response)) wants_more = on_changes(response);
  if (!wants_more) context.TryCancel();
  const Status end = FromGrpcStatus(reader->Finish());
  return wants_more ? end : absl::OkStatus();
}

Result<v1::GetKernelResponse> GrpcClient::GetKernelAndTune(const ComputationView& computation,
                                                           const v1::DeviceSelection& device,
                                                           const BackgroundTuning& tuning,
                                                           v1::NumericsPolicy numerics_policy) {
  v1::GetKernelRequest request;
  *request.mutable_expression() = ToProto(computation);
  request.set_numerics_policy(numerics_policy);
  if (IsGiven(device)) *request.mutable_device() = device;
  *request.mutable_tune_in_background() = TuningToProto(tuning);
  return CallMethod(*kernels_, &v1::KernelService::Stub::GetKernel, request,
                    options_.call_limit_ns);
}

Result<v1::Kernel> GrpcClient::GetKernel(const std::string& name) {
  v1::GetKernelRequest request;
  const bool is_record = name.starts_with(kRecords);
  request.set_name(is_record ? "kernels/" + name.substr(kRecords.size()) : name);
  MDH_ASSIGN_OR_RETURN(
      v1::GetKernelResponse response,
      CallMethod(*kernels_, &v1::KernelService::Stub::GetKernel, request, options_.call_limit_ns));
  return std::move(*response.mutable_kernel());
}

Result<v1::GetKernelResponse> GrpcClient::GetBestKernel(const ComputationView& computation,
                                                        const v1::DeviceSelection& device,
                                                        v1::MatchKind weakest_match,
                                                        v1::NumericsPolicy numerics_policy) {
  v1::GetKernelRequest request;
  *request.mutable_expression() = ToProto(computation);
  request.set_weakest_match(weakest_match);
  request.set_numerics_policy(numerics_policy);
  if (IsGiven(device)) *request.mutable_device() = device;
  return CallMethod(*kernels_, &v1::KernelService::Stub::GetKernel, request,
                    options_.call_limit_ns);
}

Result<v1::CreateTuningJobResponse> GrpcClient::CreateJob(const ComputationView& computation,
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
  request.set_force(options.force);
  request.set_request_id(options.request_id.empty() ? RandomId() : options.request_id);
  for (const std::string& device : options.devices) request.add_devices(device);
  request.set_source(options.source);
  request.set_priority(options.priority);
  request.mutable_options()->set_max_device_time_ns(options.max_device_time_ns);
  request.set_validate_only(options.validate_only);
  return CallMethod(*tuning_, &v1::TuningService::Stub::CreateTuningJob, request,
                    options_.call_limit_ns);
}

Status GrpcClient::Watch(const std::string& name, int64_t after_sequence,
                         const OnProgress& on_progress, int64_t limit_ns) {
  v1::WatchTuningJobRequest request;
  request.set_name(name);
  request.set_after_sequence(after_sequence);
  grpc::ClientContext context;
  if (limit_ns > 0) context.set_deadline(After(limit_ns));
  const auto reader = tuning_->WatchTuningJob(&context, request);
  v1::WatchTuningJobResponse response;
  while (reader->Read(&response)) {
    if (on_progress) on_progress(response.progress());
  }
  return FromGrpcStatus(reader->Finish());
}

Result<v1::GetTuningJobResponse> GrpcClient::GetJob(const std::string& name) {
  v1::GetTuningJobRequest request;
  request.set_name(name);
  return CallMethod(*tuning_, &v1::TuningService::Stub::GetTuningJob, request,
                    options_.call_limit_ns);
}

Result<v1::ListTuningJobsResponse> GrpcClient::ListJobs(int page_size,
                                                        const std::string& page_token) {
  v1::ListTuningJobsRequest request;
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  return CallMethod(*tuning_, &v1::TuningService::Stub::ListTuningJobs, request,
                    options_.call_limit_ns);
}

Result<v1::ListTuningJobsResponse> GrpcClient::ListJobs(const v1::ListTuningJobsRequest& request) {
  return CallMethod(*tuning_, &v1::TuningService::Stub::ListTuningJobs, request,
                    options_.call_limit_ns);
}

Result<v1::ListTuningTrialsResponse> GrpcClient::ListTuningTrials(const std::string& name,
                                                                  int page_size,
                                                                  const std::string& page_token) {
  v1::ListTuningTrialsRequest request;
  request.set_name(name);
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  return CallMethod(*tuning_, &v1::TuningService::Stub::ListTuningTrials, request,
                    options_.call_limit_ns);
}

Result<v1::TuningJob> GrpcClient::Pause(const std::string& name) {
  v1::PauseTuningJobRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(v1::PauseTuningJobResponse response,
                       CallMethod(*tuning_, &v1::TuningService::Stub::PauseTuningJob, request,
                                  options_.call_limit_ns));
  return std::move(*response.mutable_job());
}

Result<v1::TuningJob> GrpcClient::Resume(const std::string& name) {
  v1::ResumeTuningJobRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(v1::ResumeTuningJobResponse response,
                       CallMethod(*tuning_, &v1::TuningService::Stub::ResumeTuningJob, request,
                                  options_.call_limit_ns));
  return std::move(*response.mutable_job());
}

Result<v1::TuningJob> GrpcClient::Cancel(const std::string& name) {
  v1::CancelTuningJobRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(v1::CancelTuningJobResponse response,
                       CallMethod(*tuning_, &v1::TuningService::Stub::CancelTuningJob, request,
                                  options_.call_limit_ns));
  return std::move(*response.mutable_job());
}

Result<v1::ListDevicesResponse> GrpcClient::ListDevices() {
  return CallMethod(*devices_, &v1::DeviceService::Stub::ListDevices, v1::ListDevicesRequest(),
                    kListDevicesLimitNs);
}

Result<v1::Device> GrpcClient::GetDevice(const std::string& name) {
  v1::GetDeviceRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(
      v1::GetDeviceResponse response,
      CallMethod(*devices_, &v1::DeviceService::Stub::GetDevice, request, kListDevicesLimitNs));
  return std::move(*response.mutable_device());
}

Result<v1::ListKnownDevicesResponse> GrpcClient::ListKnownDevices() {
  return CallMethod(*devices_, &v1::DeviceService::Stub::ListKnownDevices,
                    v1::ListKnownDevicesRequest(), options_.call_limit_ns);
}

Result<v1::Study> GrpcClient::CreateStudy(const v1::CreateStudyRequest& request) {
  MDH_ASSIGN_OR_RETURN(
      v1::CreateStudyResponse response,
      CallMethod(*studies_, &v1::StudyService::Stub::CreateStudy, request, options_.call_limit_ns));
  return std::move(*response.mutable_study());
}

Result<v1::Study> GrpcClient::GetStudy(const std::string& name) {
  v1::GetStudyRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(
      v1::GetStudyResponse response,
      CallMethod(*studies_, &v1::StudyService::Stub::GetStudy, request, options_.call_limit_ns));
  return std::move(*response.mutable_study());
}

Result<v1::ListStudiesResponse> GrpcClient::ListStudies(int page_size,
                                                        const std::string& page_token) {
  v1::ListStudiesRequest request;
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  return CallMethod(*studies_, &v1::StudyService::Stub::ListStudies, request,
                    options_.call_limit_ns);
}

Result<v1::AskTrialsResponse> GrpcClient::AskTrials(const std::string& name, int count,
                                                    int64_t lease_ns) {
  v1::AskTrialsRequest request;
  request.set_name(name);
  request.set_count(count);
  if (lease_ns != 0) {
    *request.mutable_lease() = google::protobuf::util::TimeUtil::NanosecondsToDuration(lease_ns);
  }
  return CallMethod(*studies_, &v1::StudyService::Stub::AskTrials, request, options_.call_limit_ns);
}

Result<v1::Study> GrpcClient::TellTrials(const v1::TellTrialsRequest& request) {
  MDH_ASSIGN_OR_RETURN(
      v1::TellTrialsResponse response,
      CallMethod(*studies_, &v1::StudyService::Stub::TellTrials, request, options_.call_limit_ns));
  return std::move(*response.mutable_study());
}

Result<v1::ListTrialsResponse> GrpcClient::ListTrials(const std::string& name, int page_size,
                                                      const std::string& page_token) {
  v1::ListTrialsRequest request;
  request.set_name(name);
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  return CallMethod(*studies_, &v1::StudyService::Stub::ListTrials, request,
                    options_.call_limit_ns);
}

Result<v1::Study> GrpcClient::CancelStudy(const std::string& name) {
  v1::CancelStudyRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(
      v1::CancelStudyResponse response,
      CallMethod(*studies_, &v1::StudyService::Stub::CancelStudy, request, options_.call_limit_ns));
  return std::move(*response.mutable_study());
}

Status GrpcClient::DeleteStudy(const std::string& name) {
  v1::DeleteStudyRequest request;
  request.set_name(name);
  return CallMethod(*studies_, &v1::StudyService::Stub::DeleteStudy, request,
                    options_.call_limit_ns)
      .status();
}

}  // namespace

std::vector<std::string> JobsOf(const v1::CreateTuningJobResponse& created) {
  std::vector<std::string> names;
  if (created.has_job()) names.push_back(created.job().name());
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

Result<std::unique_ptr<Client>> Client::Connect(const std::string& target,
                                                const ClientOptions& options) {
  MDH_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                       ConnectChannel(target, options));
  return std::make_unique<GrpcClient>(channel, options);
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
  return GetBestKernel(pipeline, device, v1::MATCH_KIND_EXACT, options.numerics_policy);
}

}  // namespace mdh
