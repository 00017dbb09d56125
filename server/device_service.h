// mdh.v1.DeviceService: what the daemon tunes for.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "mdh/v1/device.grpc.pb.h"
#include "server/device_catalogue.h"

namespace mdh {

class DeviceServiceImpl final : public v1::DeviceService::Service {
 public:
  // `catalogue` must outlive the service.
  DeviceServiceImpl(DeviceCatalogue& catalogue, std::string version)
      : catalogue_(catalogue), version_(std::move(version)) {}

  grpc::Status ListDevices(grpc::ServerContext* context, const v1::ListDevicesRequest* request,
                           v1::ListDevicesResponse* response) override;

 private:
  DeviceCatalogue& catalogue_;
  const std::string version_;
};

}  // namespace mdh
