// Messages of errors as std::string, which test output shows as text.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mdh {

inline std::string ErrorMessage(const Status& status) {
  return status.ok() ? "no error" : std::string(status.message());
}

template <typename T>
std::string ErrorMessage(const Result<T>& result) {
  return ErrorMessage(result.status());
}

}  // namespace mdh
