// Files of the project's source tree and of its build, for tests and benchmarks.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace mdh {

// The absolute path of `path` in the source tree; of the tree itself without one. Only one source
// is compiled with the directories' names, so that compilers' caches know all others in every
// clone.
std::string SourcePath(absl::string_view path = "");

// The same in the build tree.
std::string BuildPath(absl::string_view path = "");

}  // namespace mdh
