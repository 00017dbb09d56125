// A client that parses nothing: times of unary calls with bytes that were serialised before.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"

namespace mdh {

inline constexpr const char* kLookupMethod = "/mdh.v1.KernelService/LookupKernel";
inline constexpr const char* kBatchMethod = "/mdh.v1.KernelService/BatchLookupKernels";

grpc::ByteBuffer BytesOf(const std::string& text);

// Not thread-safe. Errors of every call: what the server says.
class LoadClient {
 public:
  // Every call has the token, if there is one. Errors: Unavailable if nobody listens there within
  // the time.
  static Result<std::unique_ptr<LoadClient>> Connect(const std::string& address, double limit_s,
                                                     const std::string& token);

  // One call; gives the reply.
  Result<std::string> Call(const char* method, const grpc::ByteBuffer& request);
  // One request at a time for so long, `requests` in turns: seconds of each call.
  Result<std::vector<double>> InTurn(const char* method,
                                     absl::Span<const grpc::ByteBuffer> requests,
                                     double duration_s);
  // So many requests at a time for so long: calls a second.
  Result<double> Rate(const char* method, absl::Span<const grpc::ByteBuffer> requests,
                      int outstanding, double duration_s);

 private:
  LoadClient(std::shared_ptr<grpc::Channel> channel, std::string authorization)
      : channel_(std::move(channel)), authorization_(std::move(authorization)) {}
  void Authorize(grpc::ClientContext& context) const;

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string authorization_;
  size_t next_ = 0;  // of the requests
};

}  // namespace mdh
