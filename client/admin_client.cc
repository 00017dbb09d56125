#include "client/admin_client.h"

#include <utility>

#include "client/channel.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "mdh/v1/admin.grpc.pb.h"
#include "mdh/v1/kernel.grpc.pb.h"

namespace mdh {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
// Of calls that take as long as there is data.
constexpr int64_t kLongLimitNs = 3'600'000'000'000;

using Admin = v1::AdminService::Stub;
using Records = v1::KernelService::Stub;
using Health = grpc::health::v1::Health::Stub;

}  // namespace

class AdminClient::Services : public ServiceStubs<Admin, Records, Health> {
  using ServiceStubs::ServiceStubs;
};

AdminClient::AdminClient(std::unique_ptr<const Services> services)
    : services_(std::move(services)) {}
AdminClient::~AdminClient() = default;

Result<std::unique_ptr<AdminClient>> AdminClient::Connect(const std::string& target,
                                                          const ClientOptions& options) {
  MDH_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                       ConnectChannel(target, options));
  return std::unique_ptr<AdminClient>(new AdminClient(std::make_unique<const Services>(
      v1::AdminService::NewStub(channel), v1::KernelService::NewStub(channel),
      grpc::health::v1::Health::NewStub(channel), options.call_limit_ns)));
}

Result<v1::Capabilities> AdminClient::GetCapabilities() {
  return Part(services_->Call(&Admin::GetCapabilities, {}),
              &v1::GetCapabilitiesResponse::mutable_capabilities);
}

Result<v1::Statistics> AdminClient::GetStatistics() {
  return Part(services_->Call(&Admin::GetStatistics, {}),
              &v1::GetStatisticsResponse::mutable_statistics);
}

Result<grpc::health::v1::HealthCheckResponse> AdminClient::CheckHealth(const std::string& service) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  return services_->Call(&Health::Check, request);
}

Result<v1::PutKernelResponse> AdminClient::PutKernel(const v1::TuningRecord& record,
                                                     Effect effect) {
  v1::PutKernelRequest request;
  *request.mutable_record() = record;
  request.set_validate_only(effect == Effect::kOnlyCheck);
  return services_->Call(&Records::PutKernel, request);
}

Result<v1::ListRecordsResponse> AdminClient::ListRecords(const v1::ListRecordsRequest& request) {
  return services_->Call(&Records::ListRecords, request);
}

Result<v1::TuningRecord> AdminClient::Invalidate(const std::string& name) {
  return Part(services_->Call(&Records::InvalidateKernel, Named<v1::InvalidateKernelRequest>(name)),
              &v1::InvalidateKernelResponse::mutable_record);
}

Result<v1::TuningRecord> AdminClient::Pin(const std::string& name) {
  return Part(services_->Call(&Records::PinKernel, Named<v1::PinKernelRequest>(name)),
              &v1::PinKernelResponse::mutable_record);
}

Result<v1::TuningRecord> AdminClient::Unpin(const std::string& name) {
  return Part(services_->Call(&Records::UnpinKernel, Named<v1::UnpinKernelRequest>(name)),
              &v1::UnpinKernelResponse::mutable_record);
}

Result<v1::BackupResponse> AdminClient::Backup() {
  return services_->Call(&Admin::Backup, {}, kLongLimitNs);
}

Result<v1::CheckIntegrityResponse> AdminClient::CheckIntegrity() {
  return services_->Call(&Admin::CheckIntegrity, {}, kLongLimitNs);
}

Result<v1::CollectGarbageResponse> AdminClient::CollectGarbage(Effect effect) {
  v1::CollectGarbageRequest request;
  request.set_validate_only(effect == Effect::kOnlyCheck);
  return services_->Call(&Admin::CollectGarbage, request);
}

Result<std::string> AdminClient::Export(const std::string& device_fingerprint) {
  v1::ExportBundleRequest request;
  request.set_device_fingerprint(device_fingerprint);
  grpc::ClientContext context;
  const auto reader = services_->stub<Admin>().ExportBundle(&context, request);
  std::string bundle;
  v1::ExportBundleResponse piece;
  while (reader->Read(&piece)) bundle += piece.data();
  MDH_RETURN_IF_ERROR(FromGrpcStatus(reader->Finish()));
  return bundle;
}

Result<v1::ImportBundleResponse> AdminClient::Import(const std::string& bundle, Effect effect) {
  grpc::ClientContext context;
  v1::ImportBundleResponse response;
  const auto writer = services_->stub<Admin>().ImportBundle(&context, &response);
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

}  // namespace mdh
