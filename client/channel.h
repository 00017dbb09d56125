// What the clients of the daemon's services share: the connection and plain calls.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "client/client_options.h"
#include "core/base/status.h"
#include "proto/grpc_status.h"

namespace mdh {

// Calls of a process that was forked afterwards fail with FailedPrecondition: it connects again.
// Errors: Unavailable, naming the target; InvalidArgument for files or a token that are wrong;
// FailedPrecondition if the token would go over TCP without TLS to another machine;
// PermissionDenied if target is a Unix socket of somebody who is not trusted.
Result<std::shared_ptr<grpc::Channel>> ConnectChannel(const std::string& target,
                                                      const ClientOptions& options);

inline std::chrono::system_clock::time_point After(int64_t nanoseconds) {
  return std::chrono::system_clock::now() + std::chrono::nanoseconds(nanoseconds);
}

// Calls `method` of `stub` and gives its response. Errors: what the daemon says, with its details.
template <typename Service, typename Request, typename Response>
Result<Response> CallMethod(Service& stub,
                            grpc::Status (Service::*method)(grpc::ClientContext*, const Request&,
                                                            Response*),
                            const Request& request, int64_t limit_ns) {
  grpc::ClientContext context;
  context.set_deadline(After(limit_ns));
  Response response;
  MDH_RETURN_IF_ERROR(FromGrpcStatus((stub.*method)(&context, request, &response)));
  return response;
}

}  // namespace mdh
