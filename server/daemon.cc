#include "server/daemon.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "core/base/start_thread.h"
#include "proto/endpoint.h"
#include "proto/error_details.h"
#include "server/access/access_control.h"
#include "server/access/connection_limits.h"
#include "server/access/listen_address.h"
#include "server/access/tls_credentials.h"
#include "server/device_opening.h"
#include "server/devices/device_catalogue.h"
#include "server/devices/device_keeper.h"
#include "server/devices/device_list.h"
#include "server/devices/known_devices.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/remeasurer.h"
#include "server/lookup/candidates.h"
#include "server/lookup/kernel_finder.h"
#include "server/metrics/metrics_server.h"
#include "server/metrics/metrics_source.h"
#include "server/operate/file_watch.h"
#include "server/records/lookup_table.h"
#include "server/services/admin_service.h"
#include "server/services/candidate_service.h"
#include "server/services/device_service.h"
#include "server/services/expression_service.h"
#include "server/services/health_service.h"
#include "server/services/housekeeper.h"
#include "server/services/kernel_service.h"
#include "server/services/lookup_server.h"
#include "server/services/study_service.h"
#include "server/services/tuning_service.h"
#include "server/services/watch_streams.h"
#include "server/store/layers/layered_store.h"
#include "server/store/sqlite_store.h"
#include "server/store/study_store.h"
#include "server/studies/study_catalogue.h"

namespace mdh {
namespace {

// Calls that are still open when the daemon stops are ended after this.
constexpr gpr_timespec kStopGrace = {
    .tv_sec = 0, .tv_nsec = 500'000'000, .clock_type = GPR_TIMESPAN};
// The database has one daemon, so that all jobs in it are this one's.
constexpr const char* kOwner = "mdhd";

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

// More than gRPC starts for a server; it aborts where it cannot.
constexpr int kThreadsOfServer = 6;

Status CheckThatThreadsStart(int count) {
  absl::Notification end;
  std::vector<std::thread> threads;
  Status started;
  for (int n = 0; n < count && started.ok(); ++n) {
    Result<std::thread> thread = StartThread([&end] { end.WaitForNotification(); });
    started = thread.status();
    if (thread.ok()) threads.push_back(*std::move(thread));
  }
  end.Notify();
  for (std::thread& thread : threads) thread.join();
  return started;
}

// Members are destroyed in reverse order: the server before the services before what they use.
class RunningDaemon : public Daemon {
 public:
  explicit RunningDaemon(DaemonOptions options)
      : options_(std::move(options)), work_directory_removal_(options_.work_directory) {}
  ~RunningDaemon() override { Stop(); }

  // In this order; each needs those before.
  Status ReadPrincipals();
  Status ReadCertificates();
  Status ClaimSockets();
  Status OpenStore();
  Status ReadDeviceList();
  Status StartJobs();
  Status Serve();
  // The rest is done by a thread: compilers and drivers may hang, and lookups need neither.
  Status BeginToOpenDevices();

  Status AwaitDevices(StartFailure& failure) override { return opening_->Await(failure); }

  void Stop() override;
  void Reload() override {
    if (file_watch_ != nullptr) file_watch_->LookNow();
  }
  void CheckThatNothingHangs() override {
    jobs_->CountJobs();
    store_->LatestChange();
  }
  const std::vector<std::string>& addresses() const override { return addresses_; }

 private:
  void StartRemeasurer() ABSL_LOCKS_EXCLUDED(remeasurer_mutex_);
  AdminOptions Admin() const;
  std::shared_ptr<grpc::ServerCredentials> CredentialsFor(const std::string& address);
  Status WatchFiles();
  void StopRemeasurer() ABSL_LOCKS_EXCLUDED(remeasurer_mutex_);
  Status ServeMetrics();

  const DaemonOptions options_;
  const absl::Time start_ = absl::Now();
  const WorkDirectoryRemoval work_directory_removal_;
  std::vector<v1::TuningRecord> disturbed_;  // when the daemon started
  std::unique_ptr<WatchStreams> watches_;  // told of changes by the store, and of progress by jobs
  std::unique_ptr<Store> store_;
  std::unique_ptr<StudyStore> study_store_;
  std::unique_ptr<StudyCatalogue> studies_;
  std::unique_ptr<DeviceCatalogue> catalogue_;
  std::unique_ptr<DeviceOpening> opening_;  // its thread uses what follows, and ends with Stop
  std::unique_ptr<LookupTable> lookup_table_;
  JobMetrics job_metrics_;
  std::unique_ptr<JobQueue> jobs_;
  std::unique_ptr<DeviceKeeper> keeper_;
  std::unique_ptr<Housekeeper> housekeeper_;
  absl::Mutex remeasurer_mutex_;  // of the pointer
  std::unique_ptr<Remeasurer> remeasurer_ ABSL_GUARDED_BY(remeasurer_mutex_);
  std::unique_ptr<PrincipalsFile> principals_;
  std::unique_ptr<AccessControl> access_;
  std::unique_ptr<TlsCertificates> certificates_;
  std::vector<std::shared_ptr<grpc::ServerCredentials>> credentials_;  // of the listeners
  std::unique_ptr<FileWatch> file_watch_;
  std::unique_ptr<KernelFinder> kernel_finder_;
  std::unique_ptr<KernelServiceImpl> kernel_service_;
  std::unique_ptr<LookupServer> lookup_server_;
  std::unique_ptr<TuningServiceImpl> tuning_service_;
  std::unique_ptr<DeviceServiceImpl> device_service_;
  std::unique_ptr<ExpressionServiceImpl> expression_service_;
  std::unique_ptr<Candidates> candidates_;
  std::unique_ptr<CandidateServiceImpl> candidate_service_;
  std::unique_ptr<StudyServiceImpl> study_service_;
  std::unique_ptr<AdminServiceImpl> admin_service_;
  HealthServiceImpl health_service_{[this] { return store_->CheckWritable().ok(); }};
  std::unique_ptr<MetricsServer> metrics_server_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
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

Status RunningDaemon::ReadCertificates() {
  if (options_.tls.certificate.empty()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(certificates_, TlsCertificates::Open(options_.tls, options_.trusted));
  return absl::OkStatus();
}

Status RunningDaemon::WatchFiles() {
  std::vector<FileWatch::File> files;
  if (certificates_ != nullptr) {
    files.push_back({options_.tls.certificate, [this] { return certificates_->Reload(); }});
  }
  if (principals_ != nullptr) {
    files.push_back({options_.principals_file, [this] { return principals_->Reload(); }});
  }
  if (files.empty()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(file_watch_, FileWatch::Start(std::move(files)));
  return absl::OkStatus();
}

std::shared_ptr<grpc::ServerCredentials> RunningDaemon::CredentialsFor(const std::string& address) {
  const bool is_plain = certificates_ == nullptr || !UnixSocketPath(address).empty();
  credentials_.push_back(is_plain ? grpc::InsecureServerCredentials()
                                  : MakeTlsCredentials(*certificates_));
  return credentials_.back();
}

Status RunningDaemon::ReadPrincipals() {
  if (!options_.principals_file.empty()) {
    MDH_ASSIGN_OR_RETURN(principals_,
                         PrincipalsFile::Open(options_.principals_file, options_.trusted));
  }
  AccessOptions anonymous;
  const bool is_open = principals_ == nullptr && certificates_ == nullptr;
  if (!is_open) anonymous.anonymous_local = Role::kReader;
  if (options_.anonymous_role.has_value()) {
    anonymous = {.anonymous_local = *options_.anonymous_role,
                 .anonymous_remote = *options_.anonymous_role};
  }
  access_ = std::make_unique<AccessControl>(anonymous, principals_.get());
  return absl::OkStatus();
}

Status RunningDaemon::ClaimSockets() {
  for (const std::string& address : options_.listen) {
    const std::string path = UnixSocketPath(address);
    if (path.empty()) continue;
    MDH_RETURN_IF_ERROR(ClaimUnixSocket(path, options_.trusted));
    if (IsNameShared(path)) {
      spdlog::warn("{}: others could take its place once this daemon has ended", address);
    }
  }
  return absl::OkStatus();
}

Status RunningDaemon::OpenStore() {
  // Its kernels are code that clients run.
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    MDH_RETURN_IF_ERROR(CheckTrustedPath(options_.database + suffix, options_.trusted));
  }
  const SqliteStoreOptions options{options_.database, options_.max_database_bytes};
  MDH_ASSIGN_OR_RETURN(store_, OpenSqliteStore(options));
  MDH_ASSIGN_OR_RETURN(store_,
                       OpenLayeredStore(std::move(store_), options_.records, options_.trusted));
  MDH_ASSIGN_OR_RETURN(study_store_, store_->OpenStudies());
  StudyCatalogueOptions studies;
  studies.max_stored = options_.max_studies;
  studies.max_stored_bytes = options_.max_study_bytes;
  studies_ = std::make_unique<StudyCatalogue>(*study_store_, std::move(studies));
  spdlog::info("database={}", options_.database);
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
  catalogue_ = std::make_unique<DeviceCatalogue>(ExpectedDevice(wanted), std::move(known), *store_);
  opening_ = std::make_unique<DeviceOpening>(options_, std::move(wanted), *catalogue_);
  return absl::OkStatus();
}

Status RunningDaemon::BeginToOpenDevices() {
  return opening_->Begin([this] {
    lookup_table_->SetEnvironments(catalogue_->Environments());
    if (const Status begun = jobs_->Begin(); !begun.ok()) {
      spdlog::error("{}; lookups are served, and jobs begin when that is over",
                    std::string(begun.message()));
    }
    DeviceKeeperOptions keeping;
    keeping.on_new_compilers = [this] {
      lookup_table_->SetEnvironments(catalogue_->Environments());
    };
    keeper_ = std::make_unique<DeviceKeeper>(catalogue_->devices(), std::move(keeping));
    if (store_->CheckWritable().ok()) StartRemeasurer();
  });
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

Status RunningDaemon::StartJobs() {
  lookup_table_ = std::make_unique<LookupTable>(catalogue_->Environments());
  std::atomic<int64_t> records = 0;
  absl::Mutex mutex;
  MDH_RETURN_IF_ERROR(store_->ForEachRecord([&](std::string_view record) {
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
  JobQueueOptions options;
  options.max_queued = options_.max_queued_jobs;
  options.max_queued_per_source = options_.max_queued_jobs_per_source;
  options.owner = kOwner;
  options.metrics = &job_metrics_;
  options.on_progress = [watches = watches_.get()] { watches->Wake(); };
  MDH_ASSIGN_OR_RETURN(jobs_,
                       JobQueue::Start(*store_, *lookup_table_, *catalogue_, std::move(options)));
  if (!store_->CheckWritable().ok()) return absl::OkStatus();
  HousekeeperOptions housekeeping;
  housekeeping.owner = kOwner;
  housekeeping.looks = {[this] { store_->LookAfter(); }, [this] { jobs_->LookAfter(); }};
  MDH_ASSIGN_OR_RETURN(housekeeper_, Housekeeper::Start(*store_, Admin(), std::move(housekeeping)));
  return absl::OkStatus();
}

Status RunningDaemon::Serve() {
  kernel_finder_ =
      std::make_unique<KernelFinder>(*lookup_table_, *catalogue_, *store_, *jobs_, options_.limits);
  kernel_service_ =
      std::make_unique<KernelServiceImpl>(*kernel_finder_, *store_, options_.limits, *access_);
  LookupServerOptions lookups;
  lookups.admit = [access = access_.get()](const grpc::ServerContextBase& context,
                                           std::string_view method) {
    return access->Admit(context, method);
  };
  lookup_server_ = std::make_unique<LookupServer>(*kernel_service_, *kernel_finder_, *lookup_table_,
                                                  std::move(lookups));
  tuning_service_ = std::make_unique<TuningServiceImpl>(*jobs_, *lookup_table_, *catalogue_,
                                                        *store_, options_.limits, *access_);
  kernel_service_->AddTo(*watches_);
  tuning_service_->AddTo(*watches_);
  admin_service_ = std::make_unique<AdminServiceImpl>(*store_, lookup_server_->metrics(), *jobs_,
                                                      options_.limits, Admin(), *access_);
  device_service_ =
      std::make_unique<DeviceServiceImpl>(*catalogue_, *jobs_, options_.version, *access_);
  expression_service_ = std::make_unique<ExpressionServiceImpl>(options_.limits, *access_);
  candidates_ = std::make_unique<Candidates>(*lookup_table_, *catalogue_, options_.limits);
  candidate_service_ = std::make_unique<CandidateServiceImpl>(*candidates_, *access_);
  study_service_ = std::make_unique<StudyServiceImpl>(*studies_, *study_store_, *access_);

  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  LimitConnections(builder);
  // Without this two daemons may share a TCP port, and calls go to either.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  std::vector<int> ports(options_.listen.size(), 0);
  for (size_t i = 0; i < ports.size(); ++i) {
    builder.AddListeningPort(options_.listen[i], CredentialsFor(options_.listen[i]), &ports[i]);
  }
  builder.RegisterService(&health_service_);
  builder.RegisterService(kernel_service_.get());
  builder.RegisterService(tuning_service_.get());
  builder.RegisterService(device_service_.get());
  builder.RegisterService(expression_service_.get());
  builder.RegisterService(candidate_service_.get());
  builder.RegisterService(study_service_.get());
  builder.RegisterService(admin_service_.get());
  lookup_server_->AddTo(builder);
  if (options_.on_serving) options_.on_serving();
  MDH_RETURN_IF_ERROR(CheckThatThreadsStart(kThreadsOfServer));
  server_ = builder.BuildAndStart();
  if (server_ != nullptr) {
    MDH_RETURN_IF_ERROR(lookup_server_->Start());
    MDH_RETURN_IF_ERROR(watches_->Start(lookup_server_->queue()));
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& address = options_.listen[i];
    if (server_ == nullptr || ports[i] == 0) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", address));
    }
    const std::string path = UnixSocketPath(address);
    if (!path.empty() && chmod(path.c_str(), options_.socket_mode) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("the mode of socket ", path, ": ", std::strerror(errno)));
    }
    addresses_.push_back(path.empty()
                             ? absl::StrCat(address.substr(0, address.rfind(':')), ":", ports[i])
                             : address);
    spdlog::info("listening on {}", addresses_.back());
  }
  MDH_RETURN_IF_ERROR(WatchFiles());
  return ServeMetrics();
}

Status RunningDaemon::ServeMetrics() {
  if (options_.metrics_listen.empty()) return absl::OkStatus();
  const auto source = std::make_shared<MetricsSource>(
      MetricsSource::Sources{.job_metrics = job_metrics_,
                             .lookup_metrics = lookup_server_->metrics(),
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
  if (server_ == nullptr) return;
  spdlog::info("stopping");
  // First of all, so that nobody waits for devices that hang.
  catalogue_->GiveUp(WithRetry(absl::UnavailableError("the daemon is stopping"), absl::Seconds(5)));
  opening_->Stop();
  metrics_server_.reset();  // it reads what goes away below
  health_service_.Stop();
  // Watchers see the last of their jobs before the server goes away.
  jobs_->Drain();
  watches_->Stop();
  // By a clock that nobody sets.
  server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), kStopGrace));
  server_->Wait();
  watches_->Join();
  lookup_server_->Stop();
  watches_->Clear();
  server_.reset();
  file_watch_.reset();
  StopRemeasurer();
  housekeeper_.reset();
  keeper_.reset();
  jobs_.reset();
  catalogue_.reset();
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
  const bool may_be_remote = options.allow_any_host || !options.tls.certificate.empty();
  for (const std::string& address : options.listen) {
    MDH_RETURN_IF_ERROR(CheckListenAddress(address, may_be_remote));
  }
  if (!options.metrics_listen.empty()) {
    // TLS is for gRPC: metrics are plain.
    MDH_RETURN_IF_ERROR(CheckListenAddress(options.metrics_listen, options.allow_any_host));
  }
  MDH_RETURN_IF_ERROR(daemon->ReadCertificates());
  MDH_RETURN_IF_ERROR(daemon->ReadPrincipals());
  failure = StartFailure::kListen;
  MDH_RETURN_IF_ERROR(daemon->ClaimSockets());
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
