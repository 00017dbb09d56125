// Results and errors: canonical codes, one spelling for the whole project.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace mdh {

// A value or the reason why there is none. Codes used here and what they mean to a user:
//   InvalidArgument      the expression, the sizes or the request is wrong; the message names the
//   thing OutOfRange           an index leaves its extent, a size overflows FailedPrecondition the
//   environment does not allow it (no compiler, foreign database, ...) NotFound, AlreadyExists,
//   ResourceExhausted, Unavailable, DeadlineExceeded, Cancelled, Internal
template <typename T>
using Result = absl::StatusOr<T>;
using Status = absl::Status;

// Errors whose message comes in parts, as those of absl::StrCat.
template <typename... Parts>
Status InvalidArgument(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}
template <typename... Parts>
Status OutOfRange(const Parts&... parts) {
  return absl::OutOfRangeError(absl::StrCat(parts...));
}
template <typename... Parts>
Status FailedPrecondition(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat(parts...));
}
template <typename... Parts>
Status NotFound(const Parts&... parts) {
  return absl::NotFoundError(absl::StrCat(parts...));
}
template <typename... Parts>
Status AlreadyExists(const Parts&... parts) {
  return absl::AlreadyExistsError(absl::StrCat(parts...));
}
template <typename... Parts>
Status ResourceExhausted(const Parts&... parts) {
  return absl::ResourceExhaustedError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Unavailable(const Parts&... parts) {
  return absl::UnavailableError(absl::StrCat(parts...));
}
template <typename... Parts>
Status DeadlineExceeded(const Parts&... parts) {
  return absl::DeadlineExceededError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Cancelled(const Parts&... parts) {
  return absl::CancelledError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Aborted(const Parts&... parts) {
  return absl::AbortedError(absl::StrCat(parts...));
}
template <typename... Parts>
Status PermissionDenied(const Parts&... parts) {
  return absl::PermissionDeniedError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Unauthenticated(const Parts&... parts) {
  return absl::UnauthenticatedError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Unimplemented(const Parts&... parts) {
  return absl::UnimplementedError(absl::StrCat(parts...));
}
template <typename... Parts>
Status Internal(const Parts&... parts) {
  return absl::InternalError(absl::StrCat(parts...));
}

// Returns from the enclosing function if `expression` (a Status) is an error.
#define MDH_RETURN_IF_ERROR(expression)                                               \
  do {                                                                                \
    if (::mdh::Status mdh_status = (expression); !mdh_status.ok()) return mdh_status; \
  } while (false)

#define MDH_CONCAT_INNER(a, b) a##b
#define MDH_CONCAT(a, b) MDH_CONCAT_INNER(a, b)

// Declares `lhs` and gives it the value of `expression` (a Result<T>), or returns its error.
#define MDH_ASSIGN_OR_RETURN(lhs, expression) \
  MDH_ASSIGN_OR_RETURN_IMPL(MDH_CONCAT(mdh_result_, __LINE__), lhs, expression)
#define MDH_ASSIGN_OR_RETURN_IMPL(result, lhs, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return std::move(result).status();     \
  lhs = *std::move(result)

// Calls one of several lambdas on the alternative that a std::variant holds; a missing case does
// not compile.
template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace mdh
