#include "server/daemon.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include "absl/time/clock.h"
#include "proto/error_details.h"
#include "server/access/connection_limits.h"
#include "server/access_files.h"
#include "server/daemon_services.h"
#include "server/database_opening.h"
#include "server/device_opening.h"
#include "server/devices/device_catalogue.h"
#include "server/devices/device_keeper.h"
#include "server/devices/device_list.h"
#include "server/devices/device_names.h"
#include "server/devices/fleet.h"
#include "server/devices/known_devices.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/remeasurer.h"
#include "server/metrics/metrics_server.h"
#include "server/metrics/metrics_source.h"
#include "server/records/lookup_table.h"
#include "server/services/admin_service.h"
#include "server/services/housekeeper.h"
#include "server/services/watch_streams.h"
#include "server/store/layers/layered_store.h"
#include "server/store/study_store.h"
#include "server/studies/study_catalogue.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Of jobs in a database that daemons share: so often in the time of a lease.
constexpr int kRenewals = 9;

// Removes the work directory at the end if the runners have left nothing in it.
class WorkDirectoryRemoval {
 public:
  explicit WorkDirectoryRemoval(std::string path) : path_(std::move(path)) {}
  ~WorkDirectoryRemoval() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);  // fails if something is in it
  }
  WorkDirectoryRemoval(const WorkDirectoryRemoval&) = delete;
  WorkDirectoryRemoval& operator=(const WorkDirectoryRemoval&) = delete;

 private:
  const std::string path_;
};

// Members are destroyed in reverse order: the services before what they use.
class RunningDaemon : public Daemon {
 public:
  explicit RunningDaemon(DaemonOptions options)
      : options_(std::move(options)), work_directory_removal_(options_.work_directory) {}
  ~RunningDaemon() override { Stop(); }

  // In this order; each needs those before.
  Status ReadAccess();
  Status OpenStore();
  Status ReadDeviceList();
  Status StartJobs();
  Status Serve();
  // The rest is done by a thread: compilers and drivers may hang, and lookups need neither.
  Status BeginToOpenDevices();

  Status AwaitDevices(StartFailure& failure) override { return opening_->Await(failure); }

  void Stop() override;
  void Reload() override { access_->LookNow(); }
  void CheckThatNothingHangs() override {
    jobs_->CountJobs();
    store_->LatestChange();
  }
  const std::vector<std::string>& addresses() const override { return services_->addresses(); }

 private:
  void StartRemeasurer() ABSL_LOCKS_EXCLUDED(remeasurer_mutex_);
  AdminOptions Admin() const;
  Status ReadRecords();
  // What other daemons are told, and what lookups are to know of the devices of all.
  void RenewFleet();
  void TellOfDevices();
  void WhenDevicesAreOpen();
  void StopRemeasurer() ABSL_LOCKS_EXCLUDED(remeasurer_mutex_);
  Status ServeMetrics();

  const DaemonOptions options_;
  const absl::Time start_ = absl::Now();
  const WorkDirectoryRemoval work_directory_removal_;
  std::unique_ptr<AccessFiles> access_;
  std::vector<v1::TuningRecord> disturbed_;  // when the daemon started
  std::unique_ptr<WatchStreams> watches_;  // told of changes by the store, and of progress by jobs
  std::unique_ptr<Store> store_;
  std::string owner_;       // of its jobs, in the store
  bool is_shared_ = false;  // other daemons use the store, too
  std::unique_ptr<StudyStore> study_store_;
  std::unique_ptr<StudyCatalogue> studies_;
  std::unique_ptr<Fleet> fleet_;  // null: nobody shares the store
  std::unique_ptr<DeviceCatalogue> catalogue_;
  std::unique_ptr<DeviceOpening> opening_;  // its thread uses what follows, and ends with Stop
  std::unique_ptr<LookupTable> lookup_table_;
  JobMetrics job_metrics_;
  std::unique_ptr<JobQueue> jobs_;
  std::unique_ptr<DeviceKeeper> keeper_;
  std::unique_ptr<Housekeeper> housekeeper_;
  absl::Mutex remeasurer_mutex_;  // of the pointer
  std::unique_ptr<Remeasurer> remeasurer_ ABSL_GUARDED_BY(remeasurer_mutex_);
  std::unique_ptr<DaemonServices> services_;
  std::unique_ptr<MetricsServer> metrics_server_;
};

AdminOptions RunningDaemon::Admin() const {
  return {.version = options_.version,
          .backup_directory = options_.backup_directory,
          .keep_jobs = absl::Hours(24) * options_.keep_jobs_days,
          .most_ended_jobs = options_.max_ended_jobs,
          .max_request_bytes = kMaxRequestBytes,
          .max_queued_jobs = options_.max_queued_jobs,
          .max_queued_jobs_per_source = options_.max_queued_jobs_per_source};
}

Status RunningDaemon::ReadAccess() {
  MDH_RETURN_IF_ERROR(CheckAddresses(options_));
  MDH_ASSIGN_OR_RETURN(access_, AccessFiles::Read(options_));
  return absl::OkStatus();
}

Status RunningDaemon::OpenStore() {
  MDH_ASSIGN_OR_RETURN(OpenedDatabase database, OpenDatabase(options_));
  owner_ = std::move(database.owner);
  is_shared_ = database.is_shared;
  MDH_ASSIGN_OR_RETURN(
      store_, OpenLayeredStore(std::move(database.store), options_.records, options_.trusted));
  MDH_ASSIGN_OR_RETURN(study_store_, store_->OpenStudies());
  StudyCatalogueOptions studies;
  studies.is_shared = is_shared_;
  studies.max_stored = options_.max_studies;
  studies.max_stored_bytes = options_.max_study_bytes;
  studies_ = std::make_unique<StudyCatalogue>(*study_store_, std::move(studies));
  spdlog::info("database={}", database.shown);
  if (const Status writable = store_->CheckWritable(); !writable.ok()) {
    spdlog::warn("{}; what is stored is served", std::string(writable.message()));
  }
  return absl::OkStatus();
}

Status RunningDaemon::ReadDeviceList() {
  std::vector<WantedDevice> wanted;
  if (!options_.devices.empty()) {
    MDH_ASSIGN_OR_RETURN(wanted, ParseDeviceList(options_.devices));
  }
  MDH_ASSIGN_OR_RETURN(std::vector<v1::KnownDevice> known, ReadKnownDevices(KnownDeviceFiles()));
  std::optional<DeviceDescription> expected;
  if (options_.devices != kNoDevices) expected = ExpectedDevice(wanted);
  catalogue_ = std::make_unique<DeviceCatalogue>(std::move(expected), std::move(known), *store_);
  opening_ = std::make_unique<DeviceOpening>(options_, std::move(wanted), *catalogue_);
  if (!options_.default_device.empty()) {
    MDH_ASSIGN_OR_RETURN(std::string name, ParseDeviceName(options_.default_device));
    catalogue_->SetDefault(std::move(name));
  }
  if (!is_shared_) return absl::OkStatus();
  fleet_ =
      std::make_unique<Fleet>(*store_, FleetOptions{.daemon = owner_,
                                                    .lease = absl::Seconds(options_.job_lease_s),
                                                    .server_version = options_.version});
  catalogue_->SetFleet(*fleet_);
  if (const Status read = fleet_->Refresh(); !read.ok()) {
    spdlog::warn("devices of other daemons: {}", std::string(read.message()));
  }
  return absl::OkStatus();
}

Status RunningDaemon::BeginToOpenDevices() {
  return opening_->Begin([this] { WhenDevicesAreOpen(); });
}

void RunningDaemon::WhenDevicesAreOpen() {
  TellOfDevices();
  RenewFleet();
  for (const std::unique_ptr<TuningDevice>& device : catalogue_->devices()) {
    const std::vector<std::string>& served = options_.serve_devices;
    const bool is_served =
        served.empty() || std::ranges::find(served, device->fingerprint()) != served.end();
    if (!is_served) {
      spdlog::warn(
          "device={} is not among those of --serve-devices: what it finds is stored, and"
          " not served here",
          device->name());
    }
  }
  if (const Status begun = jobs_->Begin(); !begun.ok()) {
    spdlog::error("{}; lookups are served, and jobs begin when that is over",
                  std::string(begun.message()));
  }
  DeviceKeeperOptions keeping;
  keeping.on_new_compilers = [this] {
    TellOfDevices();
    RenewFleet();
  };
  keeper_ = std::make_unique<DeviceKeeper>(catalogue_->devices(), std::move(keeping));
  if (store_->CheckWritable().ok() && !catalogue_->devices().empty()) StartRemeasurer();
}

void RunningDaemon::TellOfDevices() {
  lookup_table_->SetEnvironments(catalogue_->Environments());
  lookup_table_->SetNoDefault(catalogue_->NoDefault());
}

void RunningDaemon::RenewFleet() {
  if (fleet_ == nullptr) return;
  std::vector<v1::Device> devices = catalogue_->Announced();
  for (size_t n = 0; n < devices.size(); ++n) {
    const int queued = jobs_->CountQueued(*catalogue_->devices()[n]);
    devices[n].mutable_load()->set_queued_jobs(queued);
  }
  fleet_->Renew(devices);
  TellOfDevices();
}

void RunningDaemon::StartRemeasurer() {
  Result<std::unique_ptr<Remeasurer>> started =
      Remeasurer::Start(*lookup_table_, *catalogue_, *jobs_, RemeasurerOptions());
  if (!started.ok()) {
    spdlog::warn("disturbed records are not measured again: {}",
                 std::string(started.status().message()));
    return;
  }
  for (const v1::TuningRecord& record : std::exchange(disturbed_, {})) (*started)->Note(record);
  absl::MutexLock lock(&remeasurer_mutex_);
  remeasurer_ = *std::move(started);
}

Status RunningDaemon::ReadRecords() {
  lookup_table_ = std::make_unique<LookupTable>(catalogue_->Environments());
  lookup_table_->ServeOnly(options_.serve_devices);
  std::atomic<int64_t> records = 0;
  absl::Mutex mutex;
  MDH_RETURN_IF_ERROR(store_->ForEachRecord(options_.serve_devices, [&](std::string_view record) {
    thread_local SliceSlab slab;  // of each of the threads that read
    lookup_table_->PutSerialized(record, &slab);
    ++records;
    if (!IsMarkedAsDisturbed(record)) return;
    absl::MutexLock lock(&mutex);
    disturbed_.emplace_back().ParseFromString(std::string(record));
  }));
  watches_ = std::make_unique<WatchStreams>();
  store_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
    lookup_table_->Apply(kind, record);
    watches_->Wake();
    absl::MutexLock lock(&remeasurer_mutex_);
    if (remeasurer_ == nullptr) return;
    remeasurer_->Note(record, kind != v1::KERNEL_CHANGE_KIND_REMOVED);
  });
  spdlog::info("records={}", records.load());
  return absl::OkStatus();
}

Status RunningDaemon::StartJobs() {
  MDH_RETURN_IF_ERROR(ReadRecords());
  JobQueueOptions options;
  options.max_queued = options_.max_queued_jobs;
  options.max_queued_per_source = options_.max_queued_jobs_per_source;
  options.owner = owner_;
  if (is_shared_) {
    options.is_shared = true;
    options.lease = absl::Seconds(options_.job_lease_s);
    options.lease_clock = NowNs;
    options.trial_sharing = options_.trial_sharing;
  }
  options.metrics = &job_metrics_;
  options.on_progress = [watches = watches_.get()] { watches->Wake(); };
  MDH_ASSIGN_OR_RETURN(jobs_,
                       JobQueue::Start(*store_, *lookup_table_, *catalogue_, std::move(options)));
  // Who cannot write has nothing to look after but what the other daemons say of themselves.
  const bool is_writable = store_->CheckWritable().ok();
  if (!is_writable && !is_shared_) return absl::OkStatus();
  HousekeeperOptions housekeeping;
  if (is_shared_) housekeeping.renew = absl::Seconds(options_.job_lease_s) / kRenewals;
  housekeeping.owner = owner_;
  housekeeping.renew_leases = [this, is_writable] {
    if (is_writable) jobs_->RenewLeases();
    RenewFleet();
  };
  if (is_writable) {
    housekeeping.looks = {[this] { store_->LookAfter(); }, [this] { jobs_->LookAfter(); }};
  }
  MDH_ASSIGN_OR_RETURN(housekeeper_, Housekeeper::Start(*store_, Admin(), std::move(housekeeping)));
  return absl::OkStatus();
}

Status RunningDaemon::Serve() {
  services_ = std::make_unique<DaemonServices>(DaemonServices::Parts{.options = options_,
                                                                     .admin = Admin(),
                                                                     .access = *access_,
                                                                     .store = *store_,
                                                                     .lookup_table = *lookup_table_,
                                                                     .catalogue = *catalogue_,
                                                                     .jobs = *jobs_,
                                                                     .studies = *studies_,
                                                                     .study_store = *study_store_,
                                                                     .watches = *watches_});
  MDH_RETURN_IF_ERROR(services_->Serve());
  MDH_RETURN_IF_ERROR(access_->Watch());
  return ServeMetrics();
}

Status RunningDaemon::ServeMetrics() {
  if (options_.metrics_listen.empty()) return absl::OkStatus();
  const auto source = std::make_shared<MetricsSource>(
      MetricsSource::Sources{.job_metrics = job_metrics_,
                             .lookup_metrics = services_->lookup_metrics(),
                             .jobs = *jobs_,
                             .catalogue = *catalogue_,
                             .store = *store_,
                             .version = options_.version,
                             .start = start_});
  MDH_ASSIGN_OR_RETURN(metrics_server_, MetricsServer::Start(options_.metrics_listen, source));
  spdlog::info("metrics on {}", metrics_server_->url());
  return absl::OkStatus();
}

void RunningDaemon::StopRemeasurer() {
  for (const std::unique_ptr<TuningDevice>& device : catalogue_->devices()) device->Interrupt();
  std::unique_ptr<Remeasurer> last;  // its end waits for calls that need the mutex
  {
    absl::MutexLock lock(&remeasurer_mutex_);
    std::swap(last, remeasurer_);
  }
}

void RunningDaemon::Stop() {
  if (services_ == nullptr || !services_->is_serving()) return;
  spdlog::info("stopping");
  jobs_->BeginToDrain();
  // Before all that waits, so that nobody waits for devices that hang.
  catalogue_->GiveUp(WithRetry(Unavailable("the daemon is stopping"), absl::Seconds(5)));
  opening_->Stop();
  metrics_server_.reset();  // it reads what goes away below
  services_->BeginToStop();
  // Watchers see the last of their jobs before the server goes away.
  jobs_->Drain();
  services_->Stop();
  access_->StopWatching();
  StopRemeasurer();
  housekeeper_.reset();
  keeper_.reset();
  // There is no time to wait for a store that is away.
  if (fleet_ != nullptr && store_->age() < absl::Seconds(options_.job_lease_s) / kRenewals)
    fleet_->Leave();
  services_.reset();
  jobs_.reset();
  catalogue_.reset();
  fleet_.reset();
  studies_.reset();
  study_store_.reset();
  store_.reset();
  watches_.reset();
  spdlog::info("stopped");
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::Start(const DaemonOptions& options, StartFailure& failure) {
  auto daemon = std::make_unique<RunningDaemon>(options);
  failure = StartFailure::kUsage;
  MDH_RETURN_IF_ERROR(daemon->ReadAccess());
  failure = StartFailure::kListen;
  MDH_RETURN_IF_ERROR(ClaimSockets(options));
  failure = StartFailure::kDatabase;
  MDH_RETURN_IF_ERROR(daemon->OpenStore());
  failure = StartFailure::kUsage;
  MDH_RETURN_IF_ERROR(daemon->ReadDeviceList());
  failure = StartFailure::kDatabase;
  MDH_RETURN_IF_ERROR(daemon->StartJobs());
  failure = StartFailure::kListen;
  MDH_RETURN_IF_ERROR(daemon->Serve());
  failure = StartFailure::kInternal;
  MDH_RETURN_IF_ERROR(daemon->BeginToOpenDevices());
  return std::unique_ptr<Daemon>(std::move(daemon));
}

}  // namespace mdh
