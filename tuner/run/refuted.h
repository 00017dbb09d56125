// An error of its own kind: what a search has found is withdrawn.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mdh {

// A FailedPrecondition: what the trials had found was shown to be wrong, or not to run, on new
// inputs.
Status Refuted(const std::string& why);
bool IsRefuted(const Status& status);

}  // namespace mdh
