#include "server/devices/device_catalogue.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/text_view.h"
#include "core/device/backends.h"
#include "proto/device_conversion.h"
#include "proto/error_details.h"
#include "tuner/measure/results/plausibility.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh {
namespace {

constexpr std::string_view kDevices = "devices/";
constexpr std::string_view kCpu = "devices/cpu";
constexpr std::string_view kKnownDevices = "knownDevices/";

constexpr absl::Duration kRetryWhileOpening = absl::Seconds(1);

TuningDevice* FirstCpu(absl::Span<const std::unique_ptr<TuningDevice>> devices) {
  for (const std::unique_ptr<TuningDevice>& device : devices) {
    if (device->description().kind == DeviceKind::kCpu) return device.get();
  }
  return devices.front().get();
}

std::vector<std::string> NamesOf(const v1::DeviceSelection& selection) {
  if (selection.name().empty()) return {};
  return {selection.name()};
}

}  // namespace

DeviceCatalogue::DeviceCatalogue(std::optional<DeviceDescription> expected,
                                 std::vector<v1::KnownDevice> known, Store& store)
    : expected_(std::move(expected)), known_(std::move(known)), store_(store) {}

DeviceCatalogue::DeviceCatalogue(std::vector<std::unique_ptr<TuningDevice>> devices,
                                 std::vector<std::string> missing,
                                 std::vector<v1::KnownDevice> known, Store& store)
    : DeviceCatalogue(std::nullopt, std::move(known), store) {
  Open(std::move(devices), std::move(missing));
}

void DeviceCatalogue::Open(std::vector<std::unique_ptr<TuningDevice>> devices,
                           std::vector<std::string> missing) {
  devices_ = std::move(devices);
  missing_ = std::move(missing);
  default_ = FirstCpu(devices_);
  absl::MutexLock lock(&mutex_);  // wakes who waits
  is_open_.Notify();
}

void DeviceCatalogue::GiveUp(Status why) {
  absl::MutexLock lock(&mutex_);
  if (given_up_.ok()) given_up_ = std::move(why);
}

Status DeviceCatalogue::NotOpen() const {
  absl::MutexLock lock(&mutex_);
  if (!given_up_.ok()) return given_up_;
  return WithRetry(WithReason(absl::UnavailableError("devices are being opened; try again later"),
                              "DEVICES_OPENING"),
                   kRetryWhileOpening);
}

Status DeviceCatalogue::AwaitOpen(absl::Duration limit) const {
  if (is_open()) return absl::OkStatus();
  if (limit > absl::ZeroDuration()) {
    absl::MutexLock lock(&mutex_);
    const auto is_decided = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return is_open() || !given_up_.ok();
    };
    mutex_.AwaitWithTimeout(absl::Condition(&is_decided), limit);
  }
  return is_open() ? absl::OkStatus() : NotOpen();
}

absl::Span<const std::unique_ptr<TuningDevice>> DeviceCatalogue::devices() const {
  if (!is_open()) return {};
  return devices_;
}

const std::vector<std::string>& DeviceCatalogue::missing() const {
  static const std::vector<std::string>& none = *new std::vector<std::string>();
  return is_open() ? missing_ : none;
}

std::vector<KeyEnvironment> DeviceCatalogue::Environments() const {
  if (!is_open()) {
    if (!expected_) return {};
    return {KeyEnvironment::Of(*expected_)};
  }
  std::vector<KeyEnvironment> environments = {default_->environment()};
  std::set<std::string> seen = {default_->fingerprint()};
  for (const std::unique_ptr<TuningDevice>& device : devices_) {
    if (seen.insert(device->fingerprint()).second) environments.push_back(device->environment());
  }
  return environments;
}

Result<TuningDevice*> DeviceCatalogue::Find(const std::string& name) const {
  if (!is_open()) return NotOpen();
  std::vector<std::string> names;
  for (const std::unique_ptr<TuningDevice>& device : devices_) {
    if (device->name() == name) return device.get();
    names.push_back(device->name());
  }
  std::string message =
      absl::StrCat("there is no device '", name, "'; there are ", absl::StrJoin(names, ", "));
  for (const std::string& why : missing_) absl::StrAppend(&message, "; ", why);
  return absl::NotFoundError(message);
}

Result<std::vector<TuningDevice*>> DeviceCatalogue::Select(
    absl::Span<const std::string> names) const {
  if (!is_open()) return NotOpen();
  std::vector<TuningDevice*> selected;
  const auto add = [&](TuningDevice* device) {
    if (std::find(selected.begin(), selected.end(), device) == selected.end()) {
      selected.push_back(device);
    }
  };
  for (const std::string& name : names) {
    const size_t before = selected.size();
    for (const std::unique_ptr<TuningDevice>& device : devices_) {
      const bool is_kind =
          name == absl::StrCat(View(kDevices), BackendOf(device->description().kind).name);
      if (is_kind && name != kCpu) add(device.get());
    }
    if (selected.size() > before) continue;
    MDH_ASSIGN_OR_RETURN(TuningDevice* const device, Find(name));
    add(device);
  }
  if (selected.empty()) selected.push_back(default_);
  for (const TuningDevice* device : selected) {
    if (device->fingerprint() != selected.front()->fingerprint()) {
      return absl::InvalidArgumentError(
          absl::StrCat(selected.front()->name(), " and ", device->name(),
                       " are different devices; each needs a job of its own"));
    }
  }
  return selected;
}

Result<DeviceDescription> DeviceCatalogue::Resolve(const v1::DeviceSelection& selection) const {
  if (selection.has_description()) return FromProto(selection.description());
  if (!is_open() && expected_ && (selection.name().empty() || selection.name() == kCpu)) {
    return *expected_;
  }
  if (!selection.name().starts_with(kKnownDevices)) {
    MDH_ASSIGN_OR_RETURN(const std::vector<TuningDevice*> devices, Select(NamesOf(selection)));
    return devices.front()->description();
  }
  for (const v1::KnownDevice& device : known_) {
    if (device.name() == selection.name()) return FromProto(device.description());
  }
  return absl::NotFoundError(
      absl::StrCat("no device '", selection.name(), "' is known; known are ",
                   absl::StrJoin(known_, ", ", [](std::string* out, const auto& device) {
                     absl::StrAppend(out, device.name());
                   })));
}

v1::Device DeviceCatalogue::Describe(TuningDevice& device) {
  v1::Device proto;
  proto.set_name(device.name());
  *proto.mutable_description() = mdh::ToProto(device.description());
  proto.set_fingerprint(device.fingerprint());
  proto.set_platform(device.platform());
  proto.set_driver(device.driver());
  if (const std::optional<v1::MachinePeaks> peaks = KnownPeaks(device)) {
    *proto.mutable_peaks() = *peaks;
  }
  const Status can_tune = device.CanTune();
  proto.set_can_tune(can_tune.ok());
  if (!can_tune.ok()) proto.set_cannot_tune_reason(std::string(can_tune.message()));
  const TuningDevice::State state = device.state();
  proto.set_health(state.health);
  proto.set_health_reason(state.reason);
  proto.set_confinement(state.confinement);
  proto.mutable_load()->set_running_job(state.job);
  return proto;
}

std::optional<v1::MachinePeaks> DeviceCatalogue::KnownPeaks(TuningDevice& device) {
  if (std::optional<v1::MachinePeaks> measured = MeasuredPeaks(device.fingerprint())) {
    return measured;
  }
  if (device.TryHold("")) {
    const Result<v1::MachinePeaks> peaks = Peaks(device);
    device.Release();
    if (peaks.ok()) return *peaks;
  }
  const Result<std::optional<v1::MachinePeaks>> stored = store_.GetPeaks(device.fingerprint());
  return stored.ok() ? *stored : std::nullopt;
}

std::optional<v1::MachinePeaks> DeviceCatalogue::MeasuredPeaks(
    const std::string& fingerprint) const {
  absl::MutexLock lock(&mutex_);
  const auto found = peaks_.find(fingerprint);
  if (found == peaks_.end()) return std::nullopt;
  return found->second;
}

Result<v1::MachinePeaks> DeviceCatalogue::Peaks(TuningDevice& device) {
  if (std::optional<v1::MachinePeaks> measured = MeasuredPeaks(device.fingerprint())) {
    return *std::move(measured);
  }
  return ReachedPeaks(device);
}

Result<v1::MachinePeaks> DeviceCatalogue::ReachedPeaks(TuningDevice& device) {
  MDH_ASSIGN_OR_RETURN(const std::optional<v1::MachinePeaks> stored,
                       store_.GetPeaks(device.fingerprint()));
  const Result<MachinePeaks> measured = device.runner().Peaks();
  if (!measured.ok()) {
    if (stored.has_value()) return *stored;
    return measured.status();
  }
  v1::MachinePeaks peaks = ToMessage(*measured);
  if (stored.has_value()) peaks = ToMessage(Better(*measured, FromMessage(*stored)));
  const bool is_stored =
      stored.has_value() && stored->SerializeAsString() == peaks.SerializeAsString();
  // A full disk is no reason not to know them.
  if (!is_stored) store_.PutPeaks(device.fingerprint(), peaks).IgnoreError();
  absl::MutexLock lock(&mutex_);
  peaks_[device.fingerprint()] = peaks;
  return peaks;
}

Result<v1::MachinePeaks> DeviceCatalogue::MeasurePeaksAgain(TuningDevice& device) {
  MDH_RETURN_IF_ERROR(device.runner().MeasurePeaksAgain().status());
  return ReachedPeaks(device);
}

v1::MachinePeaks DeviceCatalogue::RaisePeaks(const TuningDevice& device,
                                             const v1::MachinePeaks& reached) {
  v1::MachinePeaks peaks = reached;
  const Result<std::optional<v1::MachinePeaks>> stored = store_.GetPeaks(device.fingerprint());
  if (stored.ok() && stored->has_value()) {
    peaks = ToMessage(Better(FromMessage(reached), FromMessage(**stored)));
  }
  // A full disk is no reason not to know them.
  store_.PutPeaks(device.fingerprint(), peaks).IgnoreError();
  absl::MutexLock lock(&mutex_);
  peaks_[device.fingerprint()] = peaks;
  return peaks;
}

Status CheckPlausible(const Expression& expression, int64_t time_ns,
                      const DeviceDescription& device, const v1::MachinePeaks& peaks,
                      NumericsPolicy numerics) {
  const std::optional<std::string> why =
      WhyImplausible(expression, static_cast<double>(time_ns), CacheState::kWarm, device,
                     FromMessage(peaks), numerics);
  if (!why) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the result for '", expression.name(), "': ", *why));
}

}  // namespace mdh
