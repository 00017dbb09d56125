#include "server/device_service.h"

namespace mdh {

grpc::Status DeviceServiceImpl::ListDevices(grpc::ServerContext*, const v1::ListDevicesRequest*,
                                            v1::ListDevicesResponse* response) {
  *response->add_devices() = catalogue_.Describe();
  response->set_server_version(version_);
  return grpc::Status::OK;
}

}  // namespace mdh
