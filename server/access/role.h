// What a caller may do: each role may do what those before it may.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/status.h"

namespace mdh {

enum class Role : uint8_t {
  kNone = 0,       // only what tells nothing: health, the shape of the API
  kReader = 1,     // looks kernels, jobs and studies up
  kTuner = 2,      // lets the devices work
  kPublisher = 3,  // decides what others get from lookups
  kAdmin = 4,      // looks after the daemon
};

// "none", "reader", "tuner", "publisher", "admin".
std::string_view RoleName(Role role);
// Errors: InvalidArgument.
Result<Role> ParseRole(std::string_view name);

}  // namespace mdh
