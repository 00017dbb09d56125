#include "tuner/device/device_selector.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mdh {

std::string ToText(const DeviceSelector& selector) {
  switch (selector.kind) {
    case DeviceKind::kOpenCl:
      return absl::StrCat("opencl:", selector.number);
    case DeviceKind::kCuda:
      return absl::StrCat("cuda:", selector.number);
    case DeviceKind::kCpu:
      break;
  }
  return "cpu";
}

Result<DeviceSelector> ParseDeviceSelector(std::string_view text) {
  if (text == "cpu") return DeviceSelector{};
  absl::string_view rest(text.data(), text.size());
  DeviceSelector selector;
  if (absl::ConsumePrefix(&rest, "opencl:")) {
    selector.kind = DeviceKind::kOpenCl;
  } else if (absl::ConsumePrefix(&rest, "cuda:")) {
    selector.kind = DeviceKind::kCuda;
  } else {
    rest = "";
  }
  if (absl::SimpleAtoi(rest, &selector.number) && selector.number >= 0) return selector;
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(text),
                                                 "' is no device (devices: cpu, opencl:NUMBER, "
                                                 "cuda:NUMBER)"));
}

}  // namespace mdh
