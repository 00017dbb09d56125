#include "core/device/fingerprint.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/device/backends.h"

namespace mdh {

bool IsFingerprint(std::string_view text) {
  return std::any_of(Backends().begin(), Backends().end(), [&](const BackendInfo& backend) {
    return text.starts_with(absl::StrCat(backend.name, " '"));
  });
}

}  // namespace mdh
