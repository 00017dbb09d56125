#include "proto/error_details.h"

#include <google/protobuf/util/time_util.h>

#include "absl/strings/string_view.h"

namespace mdh {

Status WithReason(Status error, const std::string& reason,
                  const std::map<std::string, std::string>& metadata) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kErrorDomain);
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = value;
  return WithDetail(std::move(error), info);
}

Status WithRetry(Status error, absl::Duration delay) {
  google::rpc::RetryInfo info;
  *info.mutable_retry_delay() =
      google::protobuf::util::TimeUtil::NanosecondsToDuration(absl::ToInt64Nanoseconds(delay));
  return WithDetail(std::move(error), info);
}

Status WithQuota(Status error, const std::string& subject) {
  google::rpc::QuotaFailure failure;
  google::rpc::QuotaFailure::Violation* violation = failure.add_violations();
  violation->set_subject(subject);
  violation->set_description(std::string(error.message()));
  return WithDetail(std::move(error), failure);
}

Status InField(const std::string& field, Status error) {
  if (!absl::IsInvalidArgument(error) && !absl::IsOutOfRange(error)) return error;
  google::rpc::BadRequest bad;
  if (const auto inner = DetailOf<google::rpc::BadRequest>(error); inner.has_value()) {
    bad = *inner;
    for (google::rpc::BadRequest::FieldViolation& violation : *bad.mutable_field_violations()) {
      violation.set_field(field + "." + violation.field());
    }
  } else {
    google::rpc::BadRequest::FieldViolation* violation = bad.add_field_violations();
    violation->set_field(field);
    violation->set_description(std::string(error.message()));
  }
  return WithDetail(std::move(error), bad);
}

google::rpc::Status ToRpcStatus(const Status& error) {
  google::rpc::Status status;
  status.set_code(error.raw_code());
  status.set_message(std::string(error.message()));
  if (error.ok()) return status;
  if (!DetailOf<google::rpc::ErrorInfo>(error).has_value()) {
    google::rpc::ErrorInfo info;
    info.set_reason(absl::StatusCodeToString(error.code()));
    info.set_domain(kErrorDomain);
    status.add_details()->PackFrom(info);
  }
  error.ForEachPayload([&](absl::string_view url, const absl::Cord& bytes) {
    google::protobuf::Any* detail = status.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(bytes));
  });
  return status;
}

Status FromRpcStatus(const google::rpc::Status& status) {
  if (status.code() == 0) return absl::OkStatus();
  Status error(static_cast<absl::StatusCode>(status.code()), status.message());
  for (const google::protobuf::Any& detail : status.details()) {
    error.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return error;
}

}  // namespace mdh
