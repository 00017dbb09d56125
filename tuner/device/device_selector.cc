#include "tuner/device/device_selector.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/text_view.h"

namespace mdh {

std::string ToText(const DeviceSelector& selector) {
  const BackendInfo& backend = BackendOf(selector.kind);
  return backend.has_blocks ? absl::StrCat(backend.name, ":", selector.number)
                            : std::string(backend.name);
}

Result<DeviceSelector> ParseDeviceSelector(std::string_view text) {
  std::string words;
  for (const BackendInfo& backend : Backends()) {
    if (!backend.is_attached) continue;
    absl::string_view rest = View(text);
    DeviceSelector selector = {backend.kind};
    if (absl::ConsumePrefix(&rest, backend.name)) {
      if (!backend.has_blocks && rest.empty()) return selector;
      if (backend.has_blocks && absl::ConsumePrefix(&rest, ":") &&
          absl::SimpleAtoi(rest, &selector.number) && selector.number >= 0) {
        return selector;
      }
    }
    absl::StrAppend(&words, words.empty() ? "" : ", ", backend.name,
                    backend.has_blocks ? ":NUMBER" : "");
  }
  return InvalidArgument("'", View(text), "' is no device (devices: ", words, ")");
}

}  // namespace mdh
