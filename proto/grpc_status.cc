#include "proto/grpc_status.h"

#include "core/base/shortened.h"
#include "proto/error_details.h"

namespace mdh {
namespace {

constexpr size_t kMostDetailBytes = 4096;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // Trailers that are too long end a call without a word.
  google::rpc::Status details = ToRpcStatus(status);
  details.set_message(Shortened(details.message()));
  if (details.ByteSizeLong() > kMostDetailBytes) details.clear_details();
  return {static_cast<grpc::StatusCode>(status.raw_code()), details.message(),
          details.SerializeAsString()};
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  google::rpc::Status details;
  // Details that contradict the call's own code are not ours.
  if (!status.error_details().empty() && details.ParseFromString(status.error_details()) &&
      details.code() == static_cast<int>(status.error_code())) {
    details.set_message(status.error_message());
    return FromRpcStatus(details);
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace mdh
