// What the daemon says of its devices, with the peaks that it measured, and of those it only knows.
// Devices are opened while lookups are served already: a driver or a compiler may hang.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "mdh/v1/device.pb.h"
#include "server/devices/fleet.h"
#include "server/devices/tuning_device.h"
#include "server/records/kernel_key.h"
#include "server/store/store.h"

namespace mdh {

// Devices that a job is for, all of one fingerprint.
struct ChosenDevices {
  std::vector<TuningDevice*> own = {};  // none: only other daemons have some
  DeviceDescription description;
  std::vector<std::string> names = {};  // as jobs have them
  Status can_tune;                      // of those of other daemons: why none of them can
};

// Thread-safe.
class DeviceCatalogue {
 public:
  // Devices that are being opened, until Open. `expected`: what the default device is expected to
  // be, as lookups need not wait; nullopt: unknown. `store` must outlive this.
  DeviceCatalogue(std::optional<DeviceDescription> expected, std::vector<v1::KnownDevice> known,
                  Store& store);
  // Devices that are open.
  DeviceCatalogue(std::vector<std::unique_ptr<TuningDevice>> devices,
                  std::vector<std::string> missing, std::vector<v1::KnownDevice> known,
                  Store& store);

  // Before anything else is called: also devices of the others of `fleet`, which must outlive this,
  // can be meant.
  void SetFleet(Fleet& fleet) { fleet_ = &fleet; }
  // Idem: which device requests mean that name none, as ParseDeviceName gives it.
  void SetDefault(std::string name) { default_name_ = std::move(name); }
  // Once. The CPU is the default unless another one is set, or else the first one; of none there is
  // no default. `missing`: kinds that are not there, and why.
  void Open(std::vector<std::unique_ptr<TuningDevice>> devices, std::vector<std::string> missing)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // There will be no devices: who waits for them learns why.
  void GiveUp(Status why) ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_open() const { return is_open_.HasBeenNotified(); }
  // For calls that need devices: waits until they are open, or `limit` is over. Errors: Unavailable
  // "devices are being opened", with the time to try again after; why there will be none.
  Status AwaitOpen(absl::Duration limit = absl::Seconds(10)) const ABSL_LOCKS_EXCLUDED(mutex_);

  // None before they are open.
  absl::Span<const std::unique_ptr<TuningDevice>> devices() const;
  const std::vector<std::string>& missing() const;
  const std::vector<v1::KnownDevice>& known() const { return known_; }
  // Expects that the devices are open, and that there are some.
  TuningDevice& default_device() const { return *default_; }
  // Of all devices, also of other daemons, without repetitions, that of the default first, which
  // has no fingerprint as long as that is not known; before they are open that of the expected one,
  // if there is one.
  std::vector<KeyEnvironment> Environments() const;
  // OK, or what requests get that name no device: InvalidArgument, saying which there are.
  Status NoDefault() const;
  // "devices/cuda0" as other daemons call it, if there can be some.
  std::string FullName(const std::string& own) const;
  const Fleet* fleet() const { return fleet_; }

  // The device of this daemon of that name. Errors: Unavailable before the devices are open;
  // NotFound, naming those that there are.
  Result<TuningDevice*> Find(const std::string& name) const;
  // As Choose, of those that this daemon has. Errors: NotFound also if others have them.
  Result<std::vector<TuningDevice*>> Select(absl::Span<const std::string> names) const;
  // The devices that a job may use: names of this daemon's or others', kinds ("devices/cuda"),
  // fingerprints; none: the default. Errors: NotFound, listing what there is; InvalidArgument if
  // they are not of one fingerprint, or there is no default; Unavailable before the devices are
  // open.
  Result<ChosenDevices> Choose(absl::Span<const std::string> names) const;
  // The same; who is not known is looked for in the store before there is an error.
  Result<ChosenDevices> ChooseForJob(absl::Span<const std::string> names) const;
  // That there is none of that name, on any daemon.
  Status NoSuchDevice(const std::string& name) const;
  // The device that a request means: attached, known, or described by it; none: the default. Before
  // the devices are open the expected one is attached, without its compiler. Errors: NotFound,
  // InvalidArgument; Unavailable before the devices are open.
  Result<DeviceDescription> Resolve(const v1::DeviceSelection& selection) const;

  // The devices of this daemon as others are told of them: nothing is measured for that.
  std::vector<v1::Device> Announced() ABSL_LOCKS_EXCLUDED(mutex_);
  // The device without its queue; with peaks, if they are known or can be measured because nobody
  // uses the device.
  v1::Device Describe(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);

  // Of a device that the caller holds, and of those that have its fingerprint. Measured once per
  // process. A peak is what was reached at least once: of earlier measurements the largest values
  // are kept, because a busy machine reaches less. If they cannot be measured, those of earlier
  // processes. Errors: what the runner says, if there are none.
  Result<v1::MachinePeaks> Peaks(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same with what its runner has reached since: a kernel that was too fast for the peaks may
  // have shown that they were measured while the machine was slow.
  Result<v1::MachinePeaks> ReachedPeaks(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, after they were measured once more.
  Result<v1::MachinePeaks> MeasurePeaksAgain(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  // Notes that at least these were reached: the larger ones stay. Gives what is known from now on.
  v1::MachinePeaks RaisePeaks(const TuningDevice& device, const v1::MachinePeaks& reached)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Of this process's measurements; nullopt before the first one.
  std::optional<v1::MachinePeaks> MeasuredPeaks(const std::string& fingerprint) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, or of earlier processes; nullopt if there are none.
  std::optional<v1::MachinePeaks> PeaksSoFar(const std::string& fingerprint) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Of this daemon's, those of that name, kind or fingerprint; none: there are none.
  std::vector<TuningDevice*> FindOwn(std::string_view name) const;
  // Of other daemons' one of that name or fingerprint, rather one that can tune.
  std::optional<v1::Device> FindElsewhere(const std::string& name) const;
  std::vector<std::string> DefaultNames() const;
  KeyEnvironment DefaultEnvironment() const;
  // What is said of a device without asking anybody.
  v1::Device DescribeState(TuningDevice& device) const;
  // Stores what was reached, unless what is stored is better, and gives what is known from now on.
  // `stored`: what was, before.
  v1::MachinePeaks KeepBetter(const TuningDevice& device, const MachinePeaks& reached,
                              const std::optional<v1::MachinePeaks>& stored)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<v1::MachinePeaks> KnownPeaks(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);

  Status NotOpen() const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::optional<DeviceDescription> expected_;
  const std::vector<v1::KnownDevice> known_;
  Store& store_;
  // Constant from when is_open_ is notified on, and not looked at before.
  std::vector<std::unique_ptr<TuningDevice>> devices_;
  std::vector<std::string> missing_;
  TuningDevice* default_ = nullptr;
  Fleet* fleet_ = nullptr;    // null: nobody shares the store
  std::string default_name_;  // empty: default_
  absl::Notification is_open_;
  mutable absl::Mutex mutex_;
  Status given_up_ ABSL_GUARDED_BY(mutex_);  // OK: not so
  // By fingerprint; of this process's measurements.
  std::map<std::string, v1::MachinePeaks> peaks_ ABSL_GUARDED_BY(mutex_);
  // Of earlier processes, for Announced; absent: not looked for yet.
  std::map<std::string, std::optional<v1::MachinePeaks>> earlier_peaks_ ABSL_GUARDED_BY(mutex_);
};

// Errors: Internal if `time_ns` is so short that the device would have exceeded its peak by half:
// then something was not computed.
Status CheckPlausible(const Expression& expression, int64_t time_ns,
                      const DeviceDescription& device, const v1::MachinePeaks& peaks,
                      NumericsPolicy numerics = NumericsPolicy::kReassociate);

}  // namespace mdh
