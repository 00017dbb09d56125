// mdh.v1.DeviceService: what the daemon tunes for.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "mdh/v1/device.grpc.pb.h"
#include "server/access/access_control.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_queue.h"

namespace mdh {

class DeviceServiceImpl final : public v1::DeviceService::Service {
 public:
  // All must outlive the service.
  DeviceServiceImpl(DeviceCatalogue& catalogue, const JobQueue& jobs, std::string version,
                    const AccessControl& access)
      : catalogue_(catalogue), jobs_(jobs), version_(std::move(version)), access_(access) {}

  grpc::Status GetDevice(grpc::ServerContext* context, const v1::GetDeviceRequest* request,
                         v1::GetDeviceResponse* response) override;
  grpc::Status ListDevices(grpc::ServerContext* context, const v1::ListDevicesRequest* request,
                           v1::ListDevicesResponse* response) override;
  grpc::Status ListKnownDevices(grpc::ServerContext* context,
                                const v1::ListKnownDevicesRequest* request,
                                v1::ListKnownDevicesResponse* response) override;

 private:
  v1::Device Describe(TuningDevice& device);

  DeviceCatalogue& catalogue_;
  const JobQueue& jobs_;
  const std::string version_;
  const AccessControl& access_;
};

}  // namespace mdh
