#include "client/client.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/canonical.h"
#include "mdh/v1/device.grpc.pb.h"
#include "mdh/v1/kernel.grpc.pb.h"
#include "mdh/v1/study.grpc.pb.h"
#include "mdh/v1/tuning.grpc.pb.h"
#include "proto/expression_conversion.h"
#include "proto/grpc_status.h"

namespace mdh {
namespace {

constexpr int64_t kListDevicesLimitNs = 180'000'000'000;
constexpr std::string_view kRecords = "records/";

std::chrono::system_clock::time_point After(int64_t nanoseconds) {
  return std::chrono::system_clock::now() + std::chrono::nanoseconds(nanoseconds);
}

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
  Result<v1::GetKernelResponse> GetBestKernel(const Expression& expression,
                                              const v1::DeviceSelection& device,
                                              v1::MatchKind weakest_match,
                                              v1::NumericsPolicy numerics_policy) override;
  Result<v1::Kernel> GetKernel(const std::string& name) override;
  Result<v1::CreateTuningJobResponse> CreateJob(const Expression& expression,
                                                const TuneOptions& options) override;
  Status Watch(const std::string& name, int64_t after_sequence,
               const OnProgress& on_progress) override;
  Result<v1::GetTuningJobResponse> GetJob(const std::string& name) override;
  Result<v1::ListTuningJobsResponse> ListJobs(int page_size,
                                              const std::string& page_token) override;
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
  // Calls `method` of `stub` and gives its response.
  template <typename Service, typename Request, typename Response>
  Result<Response> Call(Service& stub,
                        grpc::Status (Service::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                        const Request& request, int64_t limit_ns) const {
    grpc::ClientContext context;
    context.set_deadline(After(limit_ns));
    Response response;
    MDH_RETURN_IF_ERROR(FromGrpcStatus((stub.*method)(&context, request, &response)));
    return response;
  }

  const ClientOptions options_;
  const std::unique_ptr<v1::KernelService::Stub> kernels_;
  const std::unique_ptr<v1::TuningService::Stub> tuning_;
  const std::unique_ptr<v1::DeviceService::Stub> devices_;
  const std::unique_ptr<v1::StudyService::Stub> studies_;
};

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
  return Call(*kernels_, &v1::KernelService::Stub::LookupKernel, request, options_.call_limit_ns);
}

Result<v1::Kernel> GrpcClient::GetKernel(const std::string& name) {
  v1::GetKernelRequest request;
  const bool is_record = name.starts_with(kRecords);
  request.set_name(is_record ? "kernels/" + name.substr(kRecords.size()) : name);
  MDH_ASSIGN_OR_RETURN(
      v1::GetKernelResponse response,
      Call(*kernels_, &v1::KernelService::Stub::GetKernel, request, options_.call_limit_ns));
  return std::move(*response.mutable_kernel());
}

Result<v1::GetKernelResponse> GrpcClient::GetBestKernel(const Expression& expression,
                                                        const v1::DeviceSelection& device,
                                                        v1::MatchKind weakest_match,
                                                        v1::NumericsPolicy numerics_policy) {
  v1::GetKernelRequest request;
  *request.mutable_expression()->mutable_structured() = ToProto(expression);
  request.set_weakest_match(weakest_match);
  request.set_numerics_policy(numerics_policy);
  if (IsGiven(device)) *request.mutable_device() = device;
  return Call(*kernels_, &v1::KernelService::Stub::GetKernel, request, options_.call_limit_ns);
}

Result<v1::CreateTuningJobResponse> GrpcClient::CreateJob(const Expression& expression,
                                                          const TuneOptions& options) {
  v1::CreateTuningJobRequest request;
  // As a structure: the text form of an expression with large tables is large.
  *request.mutable_expression()->mutable_structured() = ToProto(expression);
  request.mutable_options()->set_budget_ns(options.budget_ns);
  request.mutable_options()->set_max_trials(options.max_trials);
  request.mutable_options()->set_seed(options.seed);
  request.mutable_options()->set_technique(options.technique);
  request.mutable_options()->set_numerics_policy(options.numerics_policy);
  request.mutable_options()->set_tolerance(options.tolerance);
  request.set_force(options.force);
  request.set_request_id(options.request_id);
  for (const std::string& device : options.devices) request.add_devices(device);
  request.set_source(options.source);
  return Call(*tuning_, &v1::TuningService::Stub::CreateTuningJob, request, options_.call_limit_ns);
}

Status GrpcClient::Watch(const std::string& name, int64_t after_sequence,
                         const OnProgress& on_progress) {
  v1::WatchTuningJobRequest request;
  request.set_name(name);
  request.set_after_sequence(after_sequence);
  grpc::ClientContext context;
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
  return Call(*tuning_, &v1::TuningService::Stub::GetTuningJob, request, options_.call_limit_ns);
}

Result<v1::ListTuningJobsResponse> GrpcClient::ListJobs(int page_size,
                                                        const std::string& page_token) {
  v1::ListTuningJobsRequest request;
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  return Call(*tuning_, &v1::TuningService::Stub::ListTuningJobs, request, options_.call_limit_ns);
}

Result<v1::TuningJob> GrpcClient::Cancel(const std::string& name) {
  v1::CancelTuningJobRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(
      v1::CancelTuningJobResponse response,
      Call(*tuning_, &v1::TuningService::Stub::CancelTuningJob, request, options_.call_limit_ns));
  return std::move(*response.mutable_job());
}

Result<v1::ListDevicesResponse> GrpcClient::ListDevices() {
  return Call(*devices_, &v1::DeviceService::Stub::ListDevices, v1::ListDevicesRequest(),
              kListDevicesLimitNs);
}

Result<v1::Device> GrpcClient::GetDevice(const std::string& name) {
  v1::GetDeviceRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(
      v1::GetDeviceResponse response,
      Call(*devices_, &v1::DeviceService::Stub::GetDevice, request, kListDevicesLimitNs));
  return std::move(*response.mutable_device());
}

Result<v1::ListKnownDevicesResponse> GrpcClient::ListKnownDevices() {
  return Call(*devices_, &v1::DeviceService::Stub::ListKnownDevices, v1::ListKnownDevicesRequest(),
              options_.call_limit_ns);
}

Result<v1::Study> GrpcClient::CreateStudy(const v1::CreateStudyRequest& request) {
  MDH_ASSIGN_OR_RETURN(
      v1::CreateStudyResponse response,
      Call(*studies_, &v1::StudyService::Stub::CreateStudy, request, options_.call_limit_ns));
  return std::move(*response.mutable_study());
}

Result<v1::Study> GrpcClient::GetStudy(const std::string& name) {
  v1::GetStudyRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(
      v1::GetStudyResponse response,
      Call(*studies_, &v1::StudyService::Stub::GetStudy, request, options_.call_limit_ns));
  return std::move(*response.mutable_study());
}

Result<v1::ListStudiesResponse> GrpcClient::ListStudies(int page_size,
                                                        const std::string& page_token) {
  v1::ListStudiesRequest request;
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  return Call(*studies_, &v1::StudyService::Stub::ListStudies, request, options_.call_limit_ns);
}

Result<v1::AskTrialsResponse> GrpcClient::AskTrials(const std::string& name, int count,
                                                    int64_t lease_ns) {
  v1::AskTrialsRequest request;
  request.set_name(name);
  request.set_count(count);
  if (lease_ns != 0) {
    *request.mutable_lease() = google::protobuf::util::TimeUtil::NanosecondsToDuration(lease_ns);
  }
  return Call(*studies_, &v1::StudyService::Stub::AskTrials, request, options_.call_limit_ns);
}

Result<v1::Study> GrpcClient::TellTrials(const v1::TellTrialsRequest& request) {
  MDH_ASSIGN_OR_RETURN(
      v1::TellTrialsResponse response,
      Call(*studies_, &v1::StudyService::Stub::TellTrials, request, options_.call_limit_ns));
  return std::move(*response.mutable_study());
}

Result<v1::ListTrialsResponse> GrpcClient::ListTrials(const std::string& name, int page_size,
                                                      const std::string& page_token) {
  v1::ListTrialsRequest request;
  request.set_name(name);
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  return Call(*studies_, &v1::StudyService::Stub::ListTrials, request, options_.call_limit_ns);
}

Result<v1::Study> GrpcClient::CancelStudy(const std::string& name) {
  v1::CancelStudyRequest request;
  request.set_name(name);
  MDH_ASSIGN_OR_RETURN(
      v1::CancelStudyResponse response,
      Call(*studies_, &v1::StudyService::Stub::CancelStudy, request, options_.call_limit_ns));
  return std::move(*response.mutable_study());
}

Status GrpcClient::DeleteStudy(const std::string& name) {
  v1::DeleteStudyRequest request;
  request.set_name(name);
  return Call(*studies_, &v1::StudyService::Stub::DeleteStudy, request, options_.call_limit_ns)
      .status();
}

}  // namespace

v1::KernelKey Client::KeyOf(const Expression& expression, v1::NumericsPolicy numerics_policy) {
  v1::KernelKey key;
  key.set_numerics_policy(numerics_policy);
  key.set_canonical_form(CanonicalForm(expression));
  key.set_expression_digest(Sha256Hex(key.canonical_form()));
  return key;
}

Result<std::unique_ptr<Client>> Client::Connect(const std::string& target,
                                                const ClientOptions& options) {
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  const auto limit = After(options.connect_limit_ns);
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  // A first failure is final: nobody waits for a daemon that is not there.
  while (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING) {
    if (!channel->WaitForStateChange(state, limit)) break;
    state = channel->GetState(/*try_to_connect=*/true);
  }
  if (state != GRPC_CHANNEL_READY) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to ", target, "; is mdhd running there?"));
  }
  return std::make_unique<GrpcClient>(channel, options);
}

Result<v1::TuningRecord> Client::Tune(const Expression& expression, const TuneOptions& options,
                                      const OnProgress& on_progress) {
  MDH_ASSIGN_OR_RETURN(const v1::CreateTuningJobResponse created, CreateJob(expression, options));
  MDH_RETURN_IF_ERROR(Watch(created.job().name(), 0, on_progress));
  MDH_ASSIGN_OR_RETURN(v1::GetTuningJobResponse ended, GetJob(created.job().name()));
  if (ended.job().state() == v1::TUNING_JOB_STATE_CANCELLED) {
    return absl::CancelledError(absl::StrCat(ended.job().name(), " was cancelled"));
  }
  if (ended.job().has_error()) {
    return absl::Status(static_cast<absl::StatusCode>(ended.job().error().code()),
                        ended.job().error().message());
  }
  return std::move(*ended.mutable_record());
}

}  // namespace mdh
