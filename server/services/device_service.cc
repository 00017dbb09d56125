#include "server/services/device_service.h"

#include <memory>
#include <utility>

namespace mdh {
namespace {

void AddOthers(const Fleet& fleet, v1::ListDevicesResponse& response) {
  const auto others = fleet.devices();
  for (const v1::Device& device : *others) *response.add_devices() = device;
  for (v1::Node& node : fleet.nodes()) *response.add_nodes() = std::move(node);
}

}  // namespace

v1::Device DeviceServiceImpl::Describe(TuningDevice& device) {
  v1::Device proto = catalogue_.Describe(device);
  proto.mutable_load()->set_queued_jobs(jobs_.CountQueued(device));
  return proto;
}

grpc::Status DeviceServiceImpl::GetDevice(grpc::ServerContext* context,
                                          const v1::GetDeviceRequest* request,
                                          v1::GetDeviceResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.DeviceService/GetDevice",
                    [&](const Caller&) -> Status {
                      MDH_RETURN_IF_ERROR(catalogue_.AwaitOpen());
                      const Result<TuningDevice*> own = catalogue_.Find(request->name());
                      if (own.ok()) {
                        *response->mutable_device() = Describe(**own);
                        return absl::OkStatus();
                      }
                      if (catalogue_.fleet() == nullptr) return own.status();
                      const auto others = catalogue_.fleet()->devices();
                      for (const v1::Device& device : *others) {
                        if (device.name() != request->name()) continue;
                        *response->mutable_device() = device;
                        return absl::OkStatus();
                      }
                      return own.status();
                    });
}

grpc::Status DeviceServiceImpl::ListDevices(grpc::ServerContext* context,
                                            const v1::ListDevicesRequest*,
                                            v1::ListDevicesResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.DeviceService/ListDevices",
                    [&](const Caller&) -> Status {
                      MDH_RETURN_IF_ERROR(catalogue_.AwaitOpen());
                      for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
                        *response->add_devices() = Describe(*device);
                      }
                      for (const std::string& missing : catalogue_.missing())
                        response->add_missing(missing);
                      response->set_server_version(version_);
                      if (catalogue_.fleet() != nullptr) AddOthers(*catalogue_.fleet(), *response);
                      return absl::OkStatus();
                    });
}

grpc::Status DeviceServiceImpl::ListKnownDevices(grpc::ServerContext* context,
                                                 const v1::ListKnownDevicesRequest*,
                                                 v1::ListKnownDevicesResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.DeviceService/ListKnownDevices",
                    [&](const Caller&) {
                      for (const v1::KnownDevice& device : catalogue_.known())
                        *response->add_known_devices() = device;
                      return absl::OkStatus();
                    });
}

}  // namespace mdh
