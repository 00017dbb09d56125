#include "client/admin_client.h"

#include <utility>

#include "client/channel.h"
#include "mdh/v1/admin.grpc.pb.h"
#include "mdh/v1/kernel.grpc.pb.h"

namespace mdh {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
// Of calls that take as long as there is data.
constexpr int64_t kLongLimitNs = 3'600'000'000'000;

class GrpcAdminClient : public AdminClient {
 public:
  GrpcAdminClient(const std::shared_ptr<grpc::Channel>& channel, const ClientOptions& options)
      : options_(options),
        admin_(v1::AdminService::NewStub(channel)),
        kernels_(v1::KernelService::NewStub(channel)) {}

  Result<v1::Capabilities> GetCapabilities() override {
    MDH_ASSIGN_OR_RETURN(
        v1::GetCapabilitiesResponse response,
        Call(*admin_, &v1::AdminService::Stub::GetCapabilities, v1::GetCapabilitiesRequest()));
    return std::move(*response.mutable_capabilities());
  }
  Result<v1::Statistics> GetStatistics() override {
    MDH_ASSIGN_OR_RETURN(
        v1::GetStatisticsResponse response,
        Call(*admin_, &v1::AdminService::Stub::GetStatistics, v1::GetStatisticsRequest()));
    return std::move(*response.mutable_statistics());
  }
  Result<v1::PutKernelResponse> PutKernel(const v1::TuningRecord& record, Effect effect) override {
    v1::PutKernelRequest request;
    *request.mutable_record() = record;
    request.set_validate_only(effect == Effect::kOnlyCheck);
    return Call(*kernels_, &v1::KernelService::Stub::PutKernel, request);
  }
  Result<v1::ListRecordsResponse> ListRecords(const v1::ListRecordsRequest& request) override {
    return Call(*kernels_, &v1::KernelService::Stub::ListRecords, request);
  }
  Result<v1::TuningRecord> Invalidate(const std::string& name) override {
    v1::InvalidateKernelRequest request;
    request.set_name(name);
    return RecordOf(Call(*kernels_, &v1::KernelService::Stub::InvalidateKernel, request));
  }
  Result<v1::TuningRecord> Pin(const std::string& name) override {
    v1::PinKernelRequest request;
    request.set_name(name);
    return RecordOf(Call(*kernels_, &v1::KernelService::Stub::PinKernel, request));
  }
  Result<v1::TuningRecord> Unpin(const std::string& name) override {
    v1::UnpinKernelRequest request;
    request.set_name(name);
    return RecordOf(Call(*kernels_, &v1::KernelService::Stub::UnpinKernel, request));
  }
  Result<v1::BackupResponse> Backup() override {
    return CallMethod(*admin_, &v1::AdminService::Stub::Backup, v1::BackupRequest(), kLongLimitNs);
  }
  Result<v1::CheckIntegrityResponse> CheckIntegrity() override {
    return CallMethod(*admin_, &v1::AdminService::Stub::CheckIntegrity, v1::CheckIntegrityRequest(),
                      kLongLimitNs);
  }
  Result<v1::CollectGarbageResponse> CollectGarbage(Effect effect) override {
    v1::CollectGarbageRequest request;
    request.set_validate_only(effect == Effect::kOnlyCheck);
    return Call(*admin_, &v1::AdminService::Stub::CollectGarbage, request);
  }
  Result<std::string> Export(const std::string& device_fingerprint) override;
  Result<v1::ImportBundleResponse> Import(const std::string& bundle, Effect effect) override;

 private:
  template <typename Service, typename Request, typename Response>
  Result<Response> Call(Service& stub,
                        grpc::Status (Service::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                        const Request& request) const {
    return CallMethod(stub, method, request, options_.call_limit_ns);
  }
  template <typename Response>
  static Result<v1::TuningRecord> RecordOf(Result<Response> response) {
    MDH_RETURN_IF_ERROR(response.status());
    return std::move(*response->mutable_record());
  }

  const ClientOptions options_;
  const std::unique_ptr<v1::AdminService::Stub> admin_;
  const std::unique_ptr<v1::KernelService::Stub> kernels_;
};

Result<std::string> GrpcAdminClient::Export(const std::string& device_fingerprint) {
  v1::ExportBundleRequest request;
  request.set_device_fingerprint(device_fingerprint);
  grpc::ClientContext context;
  const auto reader = admin_->ExportBundle(&context, request);
  std::string bundle;
  v1::ExportBundleResponse piece;
  while (reader->Read(&piece)) bundle += piece.data();
  MDH_RETURN_IF_ERROR(FromGrpcStatus(reader->Finish()));
  return bundle;
}

Result<v1::ImportBundleResponse> GrpcAdminClient::Import(const std::string& bundle, Effect effect) {
  grpc::ClientContext context;
  v1::ImportBundleResponse response;
  const auto writer = admin_->ImportBundle(&context, &response);
  v1::ImportBundleRequest piece;
  piece.set_validate_only(effect == Effect::kOnlyCheck);
  for (size_t at = 0; at < bundle.size(); at += kPieceBytes) {
    piece.set_data(bundle.substr(at, kPieceBytes));
    // A daemon that has seen enough says so in the end.
    if (!writer->Write(piece)) break;
  }
  writer->WritesDone();
  MDH_RETURN_IF_ERROR(FromGrpcStatus(writer->Finish()));
  return response;
}

}  // namespace

Result<std::unique_ptr<AdminClient>> AdminClient::Connect(const std::string& target,
                                                          const ClientOptions& options) {
  MDH_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                       ConnectChannel(target, options));
  return std::make_unique<GrpcAdminClient>(channel, options);
}

}  // namespace mdh
