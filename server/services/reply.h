// Results of calls as what gRPC wants of them, and numbers of pages.
#pragma once

#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "core/base/status.h"
#include "proto/error_details.h"
#include "proto/grpc_status.h"

namespace mdh {

// Of pages with small entries.
inline constexpr int kMaxPageSize = 1'000;

template <typename Response>
grpc::Status Reply(Result<Response> result, Response* response) {
  if (!result.ok()) return ToGrpcStatus(result.status());
  *response = *std::move(result);
  return grpc::Status::OK;
}

// The number in a page token, which is positive; 0 for the first page. Errors: InvalidArgument.
inline Result<int64_t> ParsePageToken(const std::string& token) {
  int64_t number = 0;
  if (!token.empty() && (!absl::SimpleAtoi(token, &number) || number <= 0)) {
    return InvalidField("page_token", "page_token is not one that this service gave");
  }
  return number;
}

// Errors: InvalidArgument if it is negative.
inline Result<int> PageLimit(int page_size, int default_size, int max_size) {
  if (page_size < 0) return InvalidField("page_size", "page_size is negative");
  return page_size == 0 ? default_size : std::min(page_size, max_size);
}

}  // namespace mdh
