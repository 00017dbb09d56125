#include "server/devices/device_catalogue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/device/backends.h"
#include "proto/device_conversion.h"
#include "proto/error_details.h"
#include "tuner/measure/results/plausibility.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh {
namespace {

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
  if (!devices_.empty()) default_ = FirstCpu(devices_);
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
  return WithRetry(
      WithReason(Unavailable("devices are being opened; try again later"), "DEVICES_OPENING"),
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

Result<DeviceDescription> DeviceCatalogue::Resolve(const v1::DeviceSelection& selection) const {
  if (selection.has_description()) return FromProto(selection.description());
  const bool is_default = selection.name().empty() && default_name_.empty();
  if (!is_open() && expected_ && (is_default || selection.name() == kCpu)) return *expected_;
  if (!selection.name().starts_with(kKnownDevices)) {
    MDH_ASSIGN_OR_RETURN(const ChosenDevices chosen, Choose(NamesOf(selection)));
    return chosen.description;
  }
  for (const v1::KnownDevice& device : known_) {
    if (device.name() == selection.name()) return FromProto(device.description());
  }
  return NotFound("no device '", selection.name(), "' is known; known are ",
                  absl::StrJoin(known_, ", ", [](std::string* out, const auto& device) {
                    absl::StrAppend(out, device.name());
                  }));
}

v1::Device DeviceCatalogue::DescribeState(TuningDevice& device) const {
  v1::Device proto;
  proto.set_name(device.name());
  *proto.mutable_description() = mdh::ToProto(device.description());
  proto.set_fingerprint(device.fingerprint());
  proto.set_platform(device.platform());
  proto.set_driver(device.driver());
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

v1::Device DeviceCatalogue::Describe(TuningDevice& device) {
  v1::Device proto = DescribeState(device);
  if (fleet_ != nullptr) proto.set_node(fleet_->self());
  if (const std::optional<v1::MachinePeaks> peaks = KnownPeaks(device)) {
    *proto.mutable_peaks() = *peaks;
  }
  return proto;
}

std::vector<v1::Device> DeviceCatalogue::Announced() {
  std::vector<v1::Device> announced;
  for (const std::unique_ptr<TuningDevice>& device : devices()) {
    announced.push_back(DescribeState(*device));
    const std::string& fingerprint = device->fingerprint();
    std::optional<v1::MachinePeaks> peaks = MeasuredPeaks(fingerprint);
    if (!peaks.has_value()) {
      absl::ReleasableMutexLock lock(&mutex_);
      const auto known = earlier_peaks_.find(fingerprint);
      const bool is_known = known != earlier_peaks_.end();
      if (is_known) peaks = known->second;
      lock.Release();
      if (!is_known) {
        const Result<std::optional<v1::MachinePeaks>> stored = store_.GetPeaks(fingerprint);
        if (stored.ok()) {
          peaks = *stored;
          absl::MutexLock noting(&mutex_);
          earlier_peaks_[fingerprint] = peaks;
        }
      }
    }
    if (peaks.has_value()) *announced.back().mutable_peaks() = *std::move(peaks);
  }
  return announced;
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
  return PeaksSoFar(device.fingerprint());
}

std::optional<v1::MachinePeaks> DeviceCatalogue::PeaksSoFar(const std::string& fingerprint) const {
  if (std::optional<v1::MachinePeaks> measured = MeasuredPeaks(fingerprint)) return measured;
  const Result<std::optional<v1::MachinePeaks>> stored = store_.GetPeaks(fingerprint);
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
  return KeepBetter(device, *measured, stored);
}

Result<v1::MachinePeaks> DeviceCatalogue::MeasurePeaksAgain(TuningDevice& device) {
  MDH_RETURN_IF_ERROR(device.runner().MeasurePeaksAgain().status());
  return ReachedPeaks(device);
}

v1::MachinePeaks DeviceCatalogue::RaisePeaks(const TuningDevice& device,
                                             const v1::MachinePeaks& reached) {
  const Result<std::optional<v1::MachinePeaks>> stored = store_.GetPeaks(device.fingerprint());
  return KeepBetter(device, FromMessage(reached), stored.ok() ? *stored : std::nullopt);
}

v1::MachinePeaks DeviceCatalogue::KeepBetter(const TuningDevice& device,
                                             const MachinePeaks& reached,
                                             const std::optional<v1::MachinePeaks>& stored) {
  const auto with_reached = [&](const std::optional<v1::MachinePeaks>& before) {
    return ToMessage(before.has_value() ? Better(reached, FromMessage(*before)) : reached);
  };
  v1::MachinePeaks peaks = with_reached(stored);
  const bool is_stored =
      stored.has_value() && stored->SerializeAsString() == peaks.SerializeAsString();
  if (!is_stored) {
    Result<v1::MachinePeaks> changed = store_.ChangePeaks(device.fingerprint(), with_reached);
    // A full disk is no reason not to know them.
    if (changed.ok()) peaks = *std::move(changed);
  }
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
  return Internal("the result for '", expression.name(), "': ", *why);
}

}  // namespace mdh
