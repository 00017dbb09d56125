// What stores know of daemons.
#pragma once

#include "absl/time/time.h"

namespace mdh {

// So long after its lease a daemon is forgotten.
inline constexpr absl::Duration kKeepGoneNodes = absl::Hours(24);

}  // namespace mdh
