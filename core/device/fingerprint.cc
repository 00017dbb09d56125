#include "core/device/fingerprint.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/device/backends.h"

namespace mdh {

bool IsFingerprint(std::string_view text) {
  return std::ranges::any_of(Backends(), [&](const BackendInfo& backend) {
    return text.starts_with(absl::StrCat(backend.name, " '"));
  });
}

}  // namespace mdh
