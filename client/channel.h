// What the clients of the daemon's services share: the connection, plain calls, their messages.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

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

// Services that are reached through one connection, by the types of their stubs. Thread-safe.
template <typename... Stubs>
class ServiceStubs {
 public:
  ServiceStubs(std::unique_ptr<Stubs>... stubs, int64_t call_limit_ns)
      : stubs_(std::move(stubs)...), call_limit_ns_(call_limit_ns) {}

  template <typename Stub>
  Stub& stub() const {
    return *std::get<std::unique_ptr<Stub>>(stubs_);
  }
  // Calls a method and gives its response. `limit_ns`: of this call; 0: that of all calls. Errors:
  // what the daemon says, with its details.
  template <typename Stub, typename Request, typename Response>
  Result<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const std::type_identity_t<Request>& request, int64_t limit_ns = 0) const {
    grpc::ClientContext context;
    context.set_deadline(After(limit_ns == 0 ? call_limit_ns_ : limit_ns));
    Response response;
    MDH_RETURN_IF_ERROR(FromGrpcStatus((stub<Stub>().*method)(&context, request, &response)));
    return response;
  }

 private:
  const std::tuple<std::unique_ptr<Stubs>...> stubs_;
  const int64_t call_limit_ns_;
};

// A request that is about the resource of that name, or for a page.
template <typename Request>
Request Named(const std::string& name) {
  Request request;
  request.set_name(name);
  return request;
}
template <typename Request>
Request Page(int page_size, const std::string& page_token, Request request = {}) {
  request.set_page_size(page_size);
  request.set_page_token(page_token);
  return request;
}

// What a response is about: Part(response, &Response::mutable_job).
template <typename Response, typename Message>
Result<Message> Part(Result<Response> response, Message* (Response::*part)()) {
  MDH_RETURN_IF_ERROR(response.status());
  return std::move(*((*response).*part)());
}

}  // namespace mdh
