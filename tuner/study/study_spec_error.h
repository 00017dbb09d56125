// Errors in the specification of a study.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mdh {

// The same error with the field in front.
inline Status InField(const std::string& field, const Status& error) {
  return InvalidArgument(field, ": ", error.message());
}

}  // namespace mdh
