// Small files of the configuration.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace mdh {

// All bytes of `path`. Errors: InvalidArgument, naming the file, if it cannot be read or has more
// than `max_bytes`.
Result<std::string> ReadFileContent(const std::string& path, int64_t max_bytes);

}  // namespace mdh
