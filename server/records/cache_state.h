// The state of the caches in which executions are timed, as requests and records say it.
#pragma once

#include "mdh/v1/record.pb.h"

namespace mdh {

// Unspecified is warm.
inline bool IsCold(v1::CacheState state) { return state == v1::CACHE_STATE_COLD; }

}  // namespace mdh
