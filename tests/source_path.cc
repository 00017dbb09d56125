#include "tests/source_path.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mdh {
namespace {

std::string Inside(absl::string_view directory, absl::string_view path) {
  return path.empty() ? std::string(directory) : absl::StrCat(directory, "/", path);
}

}  // namespace

std::string SourcePath(absl::string_view path) { return Inside(MDH_SOURCE_DIR, path); }

std::string BuildPath(absl::string_view path) { return Inside(MDH_BINARY_DIR, path); }

}  // namespace mdh
