// Files that specifications are in or mention.
#pragma once

#include <string>

#include "core/base/status.h"

namespace mdh {

// All of a file. Errors: NotFound with the system's reason, without the name of the file.
Result<std::string> ReadFileContents(const std::string& path);

}  // namespace mdh
