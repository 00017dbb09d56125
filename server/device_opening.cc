#include "server/device_opening.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/base/exhaustion.h"
#include "core/base/start_thread.h"
#include "server/store/leftovers.h"
#include "tuner/measure/find_devices.h"

namespace mdh {
namespace {

// What is attached; without a runner that could look, the CPU, for which lookups are served.
Result<DeviceSearch> SearchDevices(const std::string& runner,
                                   const std::atomic<bool>& is_stopping) {
  Result<DeviceSearch> found = FindDevices(runner, &is_stopping);
  if (found.ok() || absl::IsCancelled(found.status())) return found;
  AttachedDevice cpu = {.selector = "cpu", .description = {}, .platform = "", .driver = ""};
  MDH_ASSIGN_OR_RETURN(cpu.description, DescribeHostCpu());
  return DeviceSearch{{std::move(cpu)},
                      {absl::StrCat("no other devices: ", std::string(found.status().message()))}};
}

}  // namespace

std::optional<DeviceDescription> ExpectedDevice(const std::vector<WantedDevice>& wanted) {
  const bool has_cpu =
      wanted.empty() || std::ranges::any_of(wanted, [](const WantedDevice& device) {
        return device.selector == "cpu" && device.cores.empty();
      });
  Result<DeviceDescription> cpu = DescribeHostCpu();
  return has_cpu && cpu.ok() ? std::make_optional(*std::move(cpu)) : std::nullopt;
}

Status DeviceOpening::Begin(WhenOpen when_open) {
  MDH_ASSIGN_OR_RETURN(thread_, StartThread([this, when_open = std::move(when_open)] {
                         StartFailure failure = StartFailure::kInternal;
                         const Status status =
                             OrExhausted([&] { return Open(when_open, failure); });
                         if (!status.ok()) catalogue_.GiveUp(status);
                         {
                           absl::MutexLock lock(&mutex_);
                           end_ = status;
                           failure_ = failure;
                         }
                         const bool is_told = status.ok() || *is_stopping_;
                         if (!is_told && options_.on_failure) options_.on_failure();
                       }));
  return absl::OkStatus();
}

Status DeviceOpening::Await(StartFailure& failure) {
  absl::MutexLock lock(&mutex_);
  const auto has_ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return end_.has_value(); };
  mutex_.Await(absl::Condition(&has_ended));
  failure = failure_;
  return *end_;
}

void DeviceOpening::Stop() {
  *is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

Result<std::vector<std::unique_ptr<TuningDevice>>> DeviceOpening::MakeWanted(
    const DeviceSearch& found, const KnownPeaks& known) const {
  RunnerOptions runner = {.program = options_.runner,
                          .work_directory = options_.work_directory,
                          .threads = 0,
                          .path = {},
                          .confinement = options_.confinement,
                          .trusted = options_.trusted};
  runner.is_stopping = is_stopping_;
  std::vector<WantedDevice> wanted = wanted_.empty() ? AllDevices(found) : wanted_;
  SetPeaks(known, wanted);
  MDH_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<TuningDevice>> devices,
                       MakeDevices(wanted, found, runner));
  for (const std::unique_ptr<TuningDevice>& device : devices) {
    spdlog::info("device={} {}", device->name(), device->description().Fingerprint());
    if (const std::string confinement = device->state().confinement; !confinement.empty()) {
      spdlog::info("device={} confinement: {}", device->name(), confinement);
    }
    if (const Status can_tune = device->CanTune(); can_tune.ok()) {
      MDH_RETURN_IF_ERROR(CheckPeaksAreOf(known, *device));
    } else {
      spdlog::warn("device={} only lookups are served, tuning is refused: {}", device->name(),
                   std::string(can_tune.message()));
    }
  }
  for (const std::string& missing : found.missing) spdlog::info("{}", missing);
  return devices;
}

void DeviceOpening::ClearLeftovers() const {
  const std::filesystem::path work = options_.work_directory;
  if (!work.empty()) {
    ClearWorkDirectory(work.string());
    const int removed = RemoveDeadWorkDirectories(work.parent_path().string());
    if (removed > 0) spdlog::info("removed {} work directories of daemons that died", removed);
  }
  if (options_.backup_directory.empty()) return;
  const int removed = RemoveUnfinishedCopies(options_.backup_directory);
  if (removed > 0) spdlog::info("removed {} backups that were not finished", removed);
}

Status DeviceOpening::Open(const WhenOpen& when_open, StartFailure& failure) {
  ClearLeftovers();
  if (options_.devices == kNoDevices) {
    catalogue_.Open({}, {"no devices: started with --devices none"});
    when_open();
    spdlog::info("no devices: others work on jobs; devices are open");
    return absl::OkStatus();
  }
  // What may be wrong with devices is what --devices and --known-peaks say of them.
  failure = StartFailure::kUsage;
  MDH_ASSIGN_OR_RETURN(const KnownPeaks known,
                       ReadKnownPeaks(options_.known_peaks, options_.trusted));
  MDH_ASSIGN_OR_RETURN(const DeviceSearch found, SearchDevices(options_.runner, *is_stopping_));
  MDH_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<TuningDevice>> devices,
                       MakeWanted(found, known));
  if (*is_stopping_) return Cancelled("the daemon is stopping");
  catalogue_.Open(std::move(devices), found.missing);
  when_open();
  spdlog::info("devices are open");
  return absl::OkStatus();
}

}  // namespace mdh
