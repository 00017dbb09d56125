// Details of errors, as google.rpc defines them: payloads of a Status, which ToGrpcStatus
// (grpc_status.h) sends in the trailer "grpc-status-details-bin".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace mdh {

// The domain of the reasons that the daemon gives.
inline constexpr const char* kErrorDomain = "mdh";

// "type.googleapis.com/google.rpc.ErrorInfo".
template <typename Message>
std::string DetailUrl() {
  return "type.googleapis.com/" + Message::descriptor()->full_name();
}

// `error` with one more detail; of each type there is one, the latest. OK stays OK.
template <typename Message>
Status WithDetail(Status error, const Message& detail) {
  error.SetPayload(DetailUrl<Message>(), absl::Cord(detail.SerializeAsString()));
  return error;
}

// nullopt if the error has no detail of that type.
template <typename Message>
std::optional<Message> DetailOf(const Status& error) {
  const absl::optional<absl::Cord> bytes = error.GetPayload(DetailUrl<Message>());
  Message message;
  if (!bytes.has_value() || !message.ParseFromString(std::string(*bytes))) return std::nullopt;
  return message;
}

// With an ErrorInfo. `reason`: a constant in capitals.
Status WithReason(Status error, const std::string& reason,
                  const std::map<std::string, std::string>& metadata = {});
// With a RetryInfo: when the call may be repeated.
Status WithRetry(Status error, absl::Duration delay);
// With a QuotaFailure of `subject`, described by the message of the error.
Status WithQuota(Status error, const std::string& subject);

// `error` with a BadRequest for `field`, if it says that an argument is wrong and names no field
// yet. A field that is named already is taken to be one of `field`.
Status InField(const std::string& field, Status error);
template <typename T>
Result<T> InField(const std::string& field, Result<T> result) {
  if (result.ok()) return result;
  return InField(field, result.status());
}
// An InvalidArgument whose BadRequest names the field, "options.budget_ns".
template <typename... Parts>
Status InvalidField(const std::string& field, const Parts&... description) {
  return InField(field, InvalidArgument(description...));
}

// With all details; without an ErrorInfo, one with the name of the code as its reason.
google::rpc::Status ToRpcStatus(const Status& error);
Status FromRpcStatus(const google::rpc::Status& status);

}  // namespace mdh
