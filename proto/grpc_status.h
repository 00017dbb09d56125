// Statuses on the wire: the one place where the project's codes meet gRPC's.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace mdh {

// Both use the numbers of google.rpc.Code, so codes map to themselves; messages are kept, and so
// are details (error_details.h).
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace mdh
