#include "server/devices/device_list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/text_view.h"
#include "tuner/device/device_selector.h"

namespace mdh {
namespace {

constexpr int kMaxCore = 65'535;

template <typename... Parts>
Status Invalid(absl::string_view entry, const Parts&... parts) {
  return InvalidArgument("--devices: '", std::string(entry), "' ", parts...);
}

bool IsSelector(absl::string_view text) {
  const Result<DeviceSelector> selector = ParseDeviceSelector({text.data(), text.size()});
  return selector.ok() && ToText(*selector) == text;
}

// "0-3+6".
Result<std::vector<int>> ParseCores(absl::string_view entry, absl::string_view text) {
  std::set<int> cores;
  for (const absl::string_view range : absl::StrSplit(text, '+')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(range, '-');
    int first = -1;
    int last = -1;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last) || first < 0 || last < first || last > kMaxCore) {
      return Invalid(entry, "has no cores such as 0-3+6 after the @");
    }
    for (int core = first; core <= last; ++core) cores.insert(core);
  }
  return std::vector<int>(cores.begin(), cores.end());
}

std::string DeviceNameOf(absl::string_view selector) {
  return absl::StrCat("devices/", absl::StrReplaceAll(selector, {{":", ""}}));
}

Result<WantedDevice> ParseEntry(absl::string_view entry) {
  const size_t at = entry.find('@');
  WantedDevice wanted;
  wanted.selector = std::string(entry.substr(0, at));
  if (wanted.selector == View(kNoDevices)) return Invalid(entry, "stands alone");
  if (!IsSelector(wanted.selector)) {
    return Invalid(entry, "is no device such as cpu, opencl:0 or cuda:1");
  }
  wanted.name = DeviceNameOf(wanted.selector);
  if (at == absl::string_view::npos) return wanted;
  const absl::string_view cores = entry.substr(at + 1);
  MDH_ASSIGN_OR_RETURN(wanted.cores, ParseCores(entry, cores));
  absl::StrAppend(&wanted.name, "@", std::string(cores));
  return wanted;
}

Status NotAttached(const std::string& selector, const DeviceSearch& found) {
  const std::string attached =
      absl::StrJoin(found.devices, ", ", [](std::string* out, const AttachedDevice& device) {
        absl::StrAppend(out, device.selector);
      });
  return FailedPrecondition("--devices: there is no ", selector, "; attached: ", attached,
                            found.missing.empty() ? "" : "; ", absl::StrJoin(found.missing, "; "));
}

}  // namespace

Result<std::vector<WantedDevice>> ParseDeviceList(std::string_view text) {
  std::vector<WantedDevice> devices;
  if (text == kNoDevices) return devices;
  for (const absl::string_view entry :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    MDH_ASSIGN_OR_RETURN(WantedDevice device, ParseEntry(entry));
    for (const WantedDevice& other : devices) {
      if (other.name == device.name) return Invalid(entry, "is there twice");
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<WantedDevice> AllDevices(const DeviceSearch& found) {
  std::vector<WantedDevice> all;
  for (const AttachedDevice& device : found.devices) {
    all.push_back({device.selector, {}, DeviceNameOf(device.selector)});
  }
  return all;
}

Result<std::vector<std::unique_ptr<TuningDevice>>> MakeDevices(
    const std::vector<WantedDevice>& wanted, const DeviceSearch& found, const RunnerOptions& runner,
    const StartRunner& start) {
  std::vector<std::unique_ptr<TuningDevice>> devices;
  for (const WantedDevice& one : wanted) {
    const auto attached = std::ranges::find(found.devices, one.selector, &AttachedDevice::selector);
    if (attached == found.devices.end()) return NotAttached(one.selector, found);
    TuningDeviceOptions options = {.name = one.name,
                                   .platform = attached->platform,
                                   .driver = attached->driver,
                                   .runner = runner,
                                   .start = start};
    options.runner.device = one.selector;
    options.runner.cores = one.cores;
    options.runner.peaks = one.peaks;
    // Each runner has a folder of its own.
    options.runner.work_directory =
        absl::StrCat(runner.work_directory, "/", one.name.substr(one.name.find('/') + 1));
    const bool starts_now = one.selector == "cpu" || !one.cores.empty();
    devices.push_back(
        starts_now ? TuningDevice::Start(std::move(options), attached->description)
                   : std::make_unique<TuningDevice>(std::move(options), attached->description));
  }
  return devices;
}

}  // namespace mdh
