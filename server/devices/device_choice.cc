// Which devices a request means: this daemon's, or those of the others that share its database.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/text_view.h"
#include "core/device/backends.h"
#include "core/device/fingerprint.h"
#include "proto/device_conversion.h"
#include "server/devices/device_catalogue.h"
#include "server/devices/device_names.h"

namespace mdh {
namespace {

constexpr std::string_view kDevicesOfDaemon = "devices/";
constexpr std::string_view kTheCpu = "devices/cpu";
// Of a fleet with many devices an error names some.
constexpr size_t kMostNamed = 16;

bool HasName(const v1::Device& device, const std::string& name) {
  return device.name() == name || device.fingerprint() == name;
}

KeyEnvironment EnvironmentOf(const v1::Device& device) {
  return {device.fingerprint(), device.description().compiler()};
}

bool IsUnhealthy(const v1::Device& device) {
  return device.health() == v1::DEVICE_HEALTH_UNHEALTHY;
}

}  // namespace

std::vector<TuningDevice*> DeviceCatalogue::FindOwn(std::string_view name) const {
  if (fleet_ != nullptr && name.starts_with(absl::StrCat(fleet_->self(), "/devices/"))) {
    name.remove_prefix(fleet_->self().size() + 1);
  }
  std::vector<TuningDevice*> found;
  for (const std::unique_ptr<TuningDevice>& device : devices()) {
    if (device->name() == name) return {device.get()};
    const bool is_kind =
        name == absl::StrCat(View(kDevicesOfDaemon), BackendOf(device->description().kind).name);
    const bool is_all = (is_kind && name != kTheCpu) || device->fingerprint() == name;
    if (is_all) found.push_back(device.get());
  }
  return found;
}

std::optional<v1::Device> DeviceCatalogue::FindElsewhere(const std::string& name) const {
  if (fleet_ == nullptr) return std::nullopt;
  const auto devices = fleet_->devices();
  const v1::Device* best = nullptr;
  for (const v1::Device& device : *devices) {
    if (!HasName(device, name)) continue;
    const auto rank = [](const v1::Device& one) {
      return std::pair(!one.can_tune(), IsUnhealthy(one));
    };
    if (best == nullptr || rank(device) < rank(*best)) best = &device;
  }
  return best == nullptr ? std::nullopt : std::make_optional(*best);
}

Status DeviceCatalogue::NoSuchDevice(const std::string& name) const {
  std::vector<std::string> names;
  for (const std::unique_ptr<TuningDevice>& device : devices()) names.push_back(device->name());
  std::string message = absl::StrCat(
      "there is no device '", name, "'; there ",
      names.empty() ? "are none here" : absl::StrCat("are ", absl::StrJoin(names, ", ")));
  if (fleet_ != nullptr) {
    const auto others = fleet_->devices();
    std::vector<std::string> of_others;
    for (const v1::Device& device : *others) {
      if (of_others.size() == kMostNamed) {
        of_others.push_back(absl::StrCat("and ", others->size() - kMostNamed, " more"));
        break;
      }
      of_others.push_back(absl::StrCat(device.name(), " (", device.description().model(), ")"));
    }
    absl::StrAppend(&message, "; other daemons have ",
                    of_others.empty() ? "none, either" : absl::StrJoin(of_others, ", "));
  }
  for (const std::string& why : missing()) absl::StrAppend(&message, "; ", why);
  return NotFound(message);
}

Result<TuningDevice*> DeviceCatalogue::Find(const std::string& name) const {
  if (!is_open()) return NotOpen();
  const std::vector<TuningDevice*> own = FindOwn(name);
  // Kinds and fingerprints are no names of one.
  const bool is_one =
      own.size() == 1 && (own.front()->name() == name || FullName(own.front()->name()) == name);
  if (is_one) return own.front();
  return NoSuchDevice(name);
}

std::string DeviceCatalogue::FullName(const std::string& own) const {
  return fleet_ == nullptr ? own : DeviceOfNode(fleet_->self(), own);
}

std::vector<std::string> DeviceCatalogue::DefaultNames() const {
  if (!default_name_.empty()) return {default_name_};
  return default_ == nullptr ? std::vector<std::string>() : std::vector{default_->name()};
}

Status DeviceCatalogue::NoDefault() const {
  if (!default_name_.empty() || !is_open() || default_ != nullptr) return absl::OkStatus();
  std::string message =
      "this daemon has no devices (--devices none) and no default (--default-device): name the "
      "device that is meant";
  if (fleet_ != nullptr) {
    const auto others = fleet_->devices();
    for (size_t n = 0; n < std::min(others->size(), kMostNamed); ++n) {
      absl::StrAppend(&message, n == 0 ? ", of other daemons " : ", ", (*others)[n].name());
    }
  }
  return InvalidArgument(message);
}

Result<ChosenDevices> DeviceCatalogue::Choose(absl::Span<const std::string> given) const {
  if (!is_open()) return NotOpen();
  MDH_RETURN_IF_ERROR(given.empty() ? NoDefault() : absl::OkStatus());
  const std::vector<std::string> names =
      given.empty() ? DefaultNames() : std::vector<std::string>(given.begin(), given.end());
  ChosenDevices chosen;
  std::vector<std::pair<std::string, std::string>> fingerprints;  // with the name that it is of
  std::vector<std::string> of_others;
  std::optional<v1::Device> first;  // of others
  for (const std::string& name : names) {
    const std::vector<TuningDevice*> own = FindOwn(name);
    for (TuningDevice* device : own) {
      fingerprints.emplace_back(device->fingerprint(), device->name());
      const bool is_new = std::ranges::find(chosen.own, device) == chosen.own.end();
      if (is_new) chosen.own.push_back(device);
    }
    if (!own.empty()) continue;
    const std::optional<v1::Device> other = FindElsewhere(name);
    if (!other.has_value()) return NoSuchDevice(name);
    fingerprints.emplace_back(other->fingerprint(), name);
    of_others.push_back(name);
    if (!first.has_value() || (!first->can_tune() && other->can_tune())) first = other;
  }
  for (const auto& [fingerprint, name] : fingerprints) {
    if (fingerprint == fingerprints.front().first) continue;
    return InvalidArgument(fingerprints.front().second, " and ", name,
                           " are different devices; each needs a job of"
                           " its own");
  }
  for (const TuningDevice* device : chosen.own) chosen.names.push_back(FullName(device->name()));
  chosen.names.insert(chosen.names.end(), of_others.begin(), of_others.end());
  if (!chosen.own.empty()) {
    chosen.description = chosen.own.front()->description();
    return chosen;
  }
  MDH_ASSIGN_OR_RETURN(chosen.description, FromProto(first->description()));
  if (!first->can_tune()) {
    chosen.can_tune = FailedPrecondition(first->name(), ": ", first->cannot_tune_reason());
  }
  return chosen;
}

Result<ChosenDevices> DeviceCatalogue::ChooseForJob(absl::Span<const std::string> names) const {
  Result<ChosenDevices> chosen = Choose(names);
  const bool may_be_new = absl::IsNotFound(chosen.status()) && fleet_ != nullptr;
  if (!may_be_new || !fleet_->Refresh().ok()) return chosen;
  return Choose(names);
}

Result<std::vector<TuningDevice*>> DeviceCatalogue::Select(
    absl::Span<const std::string> names) const {
  MDH_ASSIGN_OR_RETURN(ChosenDevices chosen, Choose(names));
  if (chosen.own.empty()) return NoSuchDevice(chosen.names.front());
  return std::move(chosen.own);
}

KeyEnvironment DeviceCatalogue::DefaultEnvironment() const {
  if (default_name_.empty()) {
    if (is_open()) return default_ == nullptr ? KeyEnvironment() : default_->environment();
    return expected_ ? KeyEnvironment::Of(*expected_) : KeyEnvironment();
  }
  if (const std::vector<TuningDevice*> own = FindOwn(default_name_); !own.empty()) {
    return own.front()->environment();
  }
  if (const std::optional<v1::Device> other = FindElsewhere(default_name_)) {
    return EnvironmentOf(*other);
  }
  return IsFingerprint(default_name_) ? KeyEnvironment{default_name_, ""} : KeyEnvironment();
}

std::vector<KeyEnvironment> DeviceCatalogue::Environments() const {
  std::vector<KeyEnvironment> environments = {DefaultEnvironment()};
  std::set<std::string> seen = {environments.front().device_fingerprint};
  const auto add = [&](const KeyEnvironment& environment) {
    if (seen.insert(environment.device_fingerprint).second) environments.push_back(environment);
  };
  for (const std::unique_ptr<TuningDevice>& device : devices()) add(device->environment());
  if (fleet_ != nullptr) {
    const auto others = fleet_->devices();
    for (const bool are_unhealthy : {false, true}) {
      for (const v1::Device& device : *others) {
        if (IsUnhealthy(device) == are_unhealthy) add(EnvironmentOf(device));
      }
    }
  }
  const bool is_known = !environments.front().device_fingerprint.empty() || environments.size() > 1;
  return is_known ? environments : std::vector<KeyEnvironment>();
}

}  // namespace mdh
