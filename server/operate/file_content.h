// Small files of the configuration.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/base/trusted_path.h"

namespace mdh {

// All bytes of `path`. Errors: InvalidArgument, naming the file, if it cannot be read or has more
// than `max_bytes`; PermissionDenied if it is not of this user, root or `trusted`, or others may
// write it or put another in its place (core/base/trusted_path.h).
Result<std::string> ReadFileContent(const std::string& path, int64_t max_bytes,
                                    const TrustedUsers& trusted);

}  // namespace mdh
