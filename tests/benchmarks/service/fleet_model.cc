#include "tests/benchmarks/service/fleet_model.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/benchmarks/service/measured_server.h"

namespace mdh {
namespace {

constexpr int64_t kFewRecords = 1'000;
constexpr int kOutstanding = 64;
constexpr int kBatch = 100;
constexpr int kIdleDaemons = 4;
constexpr int kFollowers = 8;
constexpr int kWriters = 8;
constexpr int kTurns = 3;
constexpr double kMostWaitS = 60;

double OwnCpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// What the database had to do since it was made.
class DatabaseUse {
 public:
  static Result<DatabaseUse> Begin(const PostgresServer& server, std::string address) {
    DatabaseUse use(server, std::move(address));
    MDH_ASSIGN_OR_RETURN(use.transactions_, use.Transactions());
    use.cpu_s_ = server.CpuSeconds();
    return use;
  }
  double CpuSeconds() const { return server_.CpuSeconds() - cpu_s_; }
  // Processes report theirs once a second.
  Result<double> NewTransactions() const {
    MDH_ASSIGN_OR_RETURN(const int64_t now, Transactions());
    return static_cast<double>(now - transactions_);
  }

 private:
  DatabaseUse(const PostgresServer& server, std::string address)
      : server_(server), address_(std::move(address)) {}
  Result<int64_t> Transactions() const {
    return PostgresServer::NumberAt(address_,
                                    "SELECT (xact_commit + xact_rollback)::bigint FROM"
                                    " pg_stat_database WHERE datname = current_database()");
  }

  const PostgresServer& server_;
  const std::string address_;
  int64_t transactions_ = 0;
  double cpu_s_ = 0;
};

Status MeasureLookupCosts(const FleetCaseOptions& options, const RecordGenerator& records,
                          MeasuredServer& daemon, FleetCosts& costs) {
  const double window_s = options.model_window_s;
  MDH_ASSIGN_OR_RETURN(const std::vector<grpc::ByteBuffer> requests,
                       LookupRequests(records, SpreadNumbers(kFewRecords, 256)));
  MDH_ASSIGN_OR_RETURN(const grpc::ByteBuffer batch,
                       BatchRequest(records, SpreadNumbers(kFewRecords, kBatch)));
  for (const grpc::ByteBuffer& request : requests) {
    MDH_ASSIGN_OR_RETURN(const std::string reply, daemon.client->Call(kLookupMethod, request));
    costs.lookup_bytes +=
        static_cast<double>(request.Length() + reply.size()) / static_cast<double>(requests.size());
  }
  double begin_s = daemon.process->CpuSeconds();
  MDH_ASSIGN_OR_RETURN(const double rate,
                       daemon.client->Rate(kLookupMethod, requests, kOutstanding, window_s));
  costs.lookup_s = (daemon.process->CpuSeconds() - begin_s) / (rate * window_s);
  begin_s = daemon.process->CpuSeconds();
  MDH_ASSIGN_OR_RETURN(
      const double batches,
      daemon.client->Rate(kBatchMethod, absl::MakeConstSpan(&batch, 1), 2, window_s));
  costs.batched_lookup_s = (daemon.process->CpuSeconds() - begin_s) / (batches * window_s * kBatch);
  return absl::OkStatus();
}

Status MeasureStart(const FleetCaseOptions& options, const RecordGenerator& records,
                    FleetCosts& costs) {
  const auto many = static_cast<double>(options.service.many_records);
  MDH_ASSIGN_OR_RETURN(const std::string few_address,
                       FilledDatabase(options, records, kFewRecords));
  MDH_ASSIGN_OR_RETURN(const std::string address,
                       FilledDatabase(options, records, options.service.many_records));
  MDH_ASSIGN_OR_RETURN(MeasuredServer few, StartMdhdOn(options.service, "few", few_address));
  const double few_s = few.process->CpuSeconds();
  const auto few_bytes = static_cast<double>(few.process->ResidentBytes());
  MDH_RETURN_IF_ERROR(MeasureLookupCosts(options, records, few, costs));
  few.process->Stop();
  MDH_ASSIGN_OR_RETURN(const DatabaseUse use, DatabaseUse::Begin(*options.server, address));
  MDH_ASSIGN_OR_RETURN(const MeasuredServer daemon, StartMdhdOn(options.service, "many", address));
  costs.start_daemon_s = (daemon.process->CpuSeconds() - few_s) / many;
  costs.start_database_s = use.CpuSeconds() / many;
  costs.memory_bytes = (static_cast<double>(daemon.process->ResidentBytes()) - few_bytes) / many;
  MDH_ASSIGN_OR_RETURN(const StoredResult sample, records.Generate(many / 2));
  costs.record_bytes = static_cast<double>(sample.record.ByteSizeLong());
  MDH_ASSIGN_OR_RETURN(
      const int64_t stored_bytes,
      PostgresServer::NumberAt(address, "SELECT avg(length(record))::bigint FROM mdhd.records"));
  costs.stored_bytes = static_cast<double>(stored_bytes);
  return absl::OkStatus();
}

// What the server does of itself, each second.
double BackgroundOf(const FleetCaseOptions& options) {
  const double begin_s = options.server->CpuSeconds();
  absl::SleepFor(absl::Seconds(options.model_window_s));
  return (options.server->CpuSeconds() - begin_s) / options.model_window_s;
}

Status MeasureIdleDaemons(const FleetCaseOptions& options, double background_s, FleetCosts& costs) {
  MDH_ASSIGN_OR_RETURN(const std::string address, options.server->NewDatabase());
  std::vector<MeasuredServer> daemons;
  for (int n = 0; n < kIdleDaemons; ++n) {
    MDH_ASSIGN_OR_RETURN(daemons.emplace_back(),
                         StartMdhdOn(options.service, absl::StrCat("idle", n), address));
  }
  absl::SleepFor(absl::Seconds(options.model_window_s));
  MDH_ASSIGN_OR_RETURN(const DatabaseUse use, DatabaseUse::Begin(*options.server, address));
  absl::SleepFor(absl::Seconds(options.model_window_s));
  const double cpu_s = use.CpuSeconds() / options.model_window_s - background_s;
  MDH_ASSIGN_OR_RETURN(const double transactions, use.NewTransactions());
  costs.idle_transactions = transactions / (kIdleDaemons * options.model_window_s);
  costs.idle_database_s = std::max(0.0, cpu_s) / kIdleDaemons;
  return absl::OkStatus();
}

Result<v1::TuningJob> AwaitTrials(Client& client, const std::string& name) {
  const absl::Time end = absl::Now() + absl::Seconds(kMostWaitS);
  while (absl::Now() < end) {
    MDH_ASSIGN_OR_RETURN(const v1::GetTuningJobResponse job, client.GetJob(name));
    if (job.job().progress().trials() > 0) return job.job();
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::DeadlineExceededError(absl::StrCat(name, " measures nothing"));
}

Status MeasureTuningDaemon(const FleetCaseOptions& options, const RecordGenerator& records,
                           double background_s, FleetCosts& costs) {
  MDH_ASSIGN_OR_RETURN(const std::string address, options.server->NewDatabase());
  MDH_ASSIGN_OR_RETURN(const MeasuredServer daemon, StartMdhdOn(options.service, "busy", address));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(daemon.address));
  MDH_ASSIGN_OR_RETURN(const Expression expression, records.ExpressionOf(8 * kFewRecords));
  MDH_ASSIGN_OR_RETURN(
      const v1::CreateTuningJobResponse created,
      client->CreateJob(expression, {.budget_ns = 600'000'000'000, .force = true}));
  const std::string& name = created.job().name();
  MDH_ASSIGN_OR_RETURN(const v1::TuningJob before, AwaitTrials(*client, name));
  MDH_ASSIGN_OR_RETURN(const DatabaseUse use, DatabaseUse::Begin(*options.server, address));
  absl::SleepFor(absl::Seconds(options.model_window_s));
  const double cpu_s = use.CpuSeconds() / options.model_window_s - background_s;
  MDH_ASSIGN_OR_RETURN(const double transactions, use.NewTransactions());
  costs.busy_transactions = transactions / options.model_window_s;
  costs.busy_database_s = std::max(0.0, cpu_s);
  MDH_ASSIGN_OR_RETURN(const v1::TuningJob after, AwaitTrials(*client, name));
  costs.trials = static_cast<double>(after.progress().trials() - before.progress().trials()) /
                 options.model_window_s;
  return client->Cancel(name).status();
}

Status MeasureClaimCosts(const FleetCaseOptions& options, const RecordGenerator& records,
                         FleetCosts& costs) {
  MDH_ASSIGN_OR_RETURN(const std::string address, options.server->NewDatabase());
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenPostgresStore({.address = address}));
  MDH_ASSIGN_OR_RETURN(const StoredResult sample, records.Generate(0));
  v1::TuningJob job;
  job.set_state(v1::TUNING_JOB_STATE_QUEUED);
  job.set_expression_text(sample.record.expression_text());
  *job.mutable_key() = sample.record.key();
  for (int n = 0; n < options.puts; ++n) MDH_RETURN_IF_ERROR(store->InsertJob(job).status());
  const JobLease lease = {"some", absl::Seconds(45)};
  const ClaimRequest request = {.fingerprints = {job.key().device_fingerprint()}, .limit = 1};
  double begin_s = options.server->CpuSeconds();
  for (int n = 0; n < options.puts; ++n) {
    MDH_RETURN_IF_ERROR(store->ClaimJobs(lease, request).status());
  }
  costs.claim_database_s = (options.server->CpuSeconds() - begin_s) / options.puts;
  // A worker holds few jobs.
  const JobLease other = {"other", absl::Seconds(45)};
  MDH_RETURN_IF_ERROR(store->InsertJob(job).status());
  MDH_RETURN_IF_ERROR(store->ClaimJobs(other, request).status());
  begin_s = options.server->CpuSeconds();
  for (int n = 0; n < options.puts; ++n) MDH_RETURN_IF_ERROR(store->RenewLeases(other).status());
  costs.renewal_database_s = (options.server->CpuSeconds() - begin_s) / options.puts;
  return absl::OkStatus();
}

struct PutCosts {
  double database_s = 0, own_s = 0;
};

// Of puts one after the other, which so many other stores hear of.
Result<PutCosts> PutWithFollowers(const FleetCaseOptions& options, const RecordGenerator& records,
                                  int followers) {
  MDH_ASSIGN_OR_RETURN(const std::string address, options.server->NewDatabase());
  std::vector<std::unique_ptr<Store>> stores;
  for (int n = 0; n <= followers; ++n) {
    MDH_ASSIGN_OR_RETURN(stores.emplace_back(), OpenPostgresStore({.address = address}));
    stores.back()->SetListener([](v1::KernelChangeKind, const v1::TuningRecord&) {});
  }
  std::vector<StoredResult> results;
  for (int n = 0; n < options.puts; ++n) {
    MDH_ASSIGN_OR_RETURN(results.emplace_back(), records.Generate(n));
  }
  const PutCosts begin = {options.server->CpuSeconds(), OwnCpuSeconds()};
  for (const StoredResult& result : results) {
    MDH_RETURN_IF_ERROR(stores[0]->PutResult(result.record, result.kernel).status());
  }
  const int64_t latest = stores[0]->LatestChange();
  for (const auto& store : stores) {
    while (store->LatestChange() < latest) absl::SleepFor(absl::Milliseconds(1));
  }
  return PutCosts{(options.server->CpuSeconds() - begin.database_s) / options.puts,
                  (OwnCpuSeconds() - begin.own_s) / options.puts};
}

// Records of as many writers at once, a second.
Result<double> RateOfChanges(const FleetCaseOptions& options, const RecordGenerator& records) {
  MDH_ASSIGN_OR_RETURN(const std::string address, options.server->NewDatabase());
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenPostgresStore({.address = address}));
  std::vector<Status> statuses(kWriters);
  std::vector<std::thread> writers;
  const absl::Time begin = absl::Now();
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (int n = 0; n < options.puts && statuses[writer].ok(); ++n) {
        const Result<StoredResult> result = records.Generate(n * kWriters + writer);
        statuses[writer] = result.ok() ? store->PutResult(result->record, result->kernel).status()
                                       : result.status();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const double time_s = absl::ToDoubleSeconds(absl::Now() - begin);
  for (const Status& status : statuses) MDH_RETURN_IF_ERROR(status);
  return kWriters * options.puts / time_s;
}

Status MeasureChanges(const FleetCaseOptions& options, const RecordGenerator& records,
                      FleetCosts& costs) {
  MDH_ASSIGN_OR_RETURN(const PutCosts alone, PutWithFollowers(options, records, 0));
  MDH_ASSIGN_OR_RETURN(const PutCosts followed, PutWithFollowers(options, records, kFollowers));
  costs.follow_database_s = std::max(0.0, followed.database_s - alone.database_s) / kFollowers;
  costs.follow_daemon_s = std::max(0.0, followed.own_s - alone.own_s) / kFollowers;
  // Each waits for the disk, which others use, too: the least disturbed one counts.
  for (int turn = 0; turn < kTurns; ++turn) {
    MDH_ASSIGN_OR_RETURN(const double rate, RateOfChanges(options, records));
    costs.changes = std::max(costs.changes, rate);
  }
  return absl::OkStatus();
}

std::vector<ServiceFigure> Shown(const FleetCosts& costs) {
  return {
      {.name = "lookup, CPU", .value = 1e6 * costs.lookup_s, .unit = "us"},
      {.name = "lookup in a batch of 100, CPU",
       .value = 1e6 * costs.batched_lookup_s,
       .unit = "us"},
      {.name = "lookup, request and reply", .value = costs.lookup_bytes, .unit = "bytes"},
      {.name = "idle daemon, transactions", .value = costs.idle_transactions, .unit = "1/s"},
      {.name = "idle daemon, database's CPU a second",
       .value = 1e6 * costs.idle_database_s,
       .unit = "us"},
      {.name = "tuning daemon, trials", .value = costs.trials, .unit = "1/s"},
      {.name = "tuning daemon, transactions", .value = costs.busy_transactions, .unit = "1/s"},
      {.name = "tuning daemon, database's CPU a second",
       .value = 1e6 * costs.busy_database_s,
       .unit = "us"},
      {.name = "claim of a job, database's CPU",
       .value = 1e6 * costs.claim_database_s,
       .unit = "us"},
      {.name = "renewal of leases, database's CPU",
       .value = 1e6 * costs.renewal_database_s,
       .unit = "us"},
      {.name = "change that a daemon hears of, database's CPU",
       .value = 1e6 * costs.follow_database_s,
       .unit = "us"},
      {.name = "change that a daemon hears of, its CPU",
       .value = 1e6 * costs.follow_daemon_s,
       .unit = "us"},
      {.name = "changes, 8 writers, most of three", .value = costs.changes, .unit = "1/s"},
      {.name = "record at a start, database's CPU",
       .value = 1e6 * costs.start_database_s,
       .unit = "us"},
      {.name = "record at a start, daemon's CPU",
       .value = 1e6 * costs.start_daemon_s,
       .unit = "us"},
      {.name = "bytes of a record", .value = costs.record_bytes, .unit = "bytes"},
      {.name = "bytes of one as it is stored and sent",
       .value = costs.stored_bytes,
       .unit = "bytes"},
      {.name = "record in memory", .value = costs.memory_bytes, .unit = "bytes"},
  };
}

// The largest number of workers w with linear * w + square * w^2 <= limit.
double MostWorkers(double limit, double linear, double square) {
  if (square <= 0) return linear <= 0 ? INFINITY : limit / linear;
  return (std::sqrt(linear * linear + 4 * square * limit) - linear) / (2 * square);
}

}  // namespace

std::vector<ServiceFigure> NeedsOf(const FleetSize& fleet, const FleetCosts& costs) {
  const double front_ends = std::ceil(fleet.lookups * costs.lookup_s);
  const double followers = fleet.workers + front_ends;
  const double changes = fleet.workers * fleet.changes_of_worker;
  const double tuning_cores = fleet.workers * costs.busy_database_s;
  const double idle_cores = front_ends * costs.idle_database_s;
  const double follow_cores = changes * followers * costs.follow_database_s;
  const std::string all = absl::StrCat(fleet.workers, " workers: ");
  const std::string lookups = absl::StrCat(fleet.lookups, " lookups a second: ");
  const std::string memory = absl::StrCat(fleet.records, " records: ");
  std::vector<ServiceFigure> needs = {
      {.name = lookups + "front ends of one core", .value = front_ends, .unit = "cores"},
      {.name = lookups + "in batches of 100",
       .value = std::ceil(fleet.lookups * costs.batched_lookup_s),
       .unit = "cores"},
      {.name = lookups + "with caches of clients at 95 %",
       .value = std::ceil(0.05 * fleet.lookups * costs.lookup_s),
       .unit = "cores"},
      {.name = lookups + "network of all front ends",
       .value = fleet.lookups * costs.lookup_bytes,
       .unit = "bytes/s"},
      {.name = memory + "memory of a front end",
       .value = fleet.records * costs.memory_bytes,
       .unit = "bytes"},
      {.name = memory + "start of a front end with 16 cores",
       .value = fleet.records * costs.start_daemon_s / 16,
       .unit = "s"},
      {.name = memory + "database's CPU for it",
       .value = fleet.records * costs.start_database_s,
       .unit = "s"},
      {.name = all + "changes", .value = changes, .unit = "1/s"},
      {.name = all + "database's transactions",
       .value = fleet.workers * costs.busy_transactions + front_ends * costs.idle_transactions +
                changes * followers,
       .unit = "1/s"},
      {.name = all + "database's cores, for tuning", .value = tuning_cores, .unit = "cores"},
      {.name = all + "of these for claims and renewals",
       .value = fleet.workers * (costs.claim_database_s / 60 + costs.renewal_database_s / 5),
       .unit = "cores"},
      {.name = all + "database's cores, for idle front ends", .value = idle_cores, .unit = "cores"},
      {.name = all + "database's cores, for who hears of changes",
       .value = follow_cores,
       .unit = "cores"},
      {.name = all + "database's network, for who hears of changes",
       .value = changes * followers * costs.stored_bytes,
       .unit = "bytes/s"},
      {.name = all + "a front end's CPU for changes",
       .value = changes * costs.follow_daemon_s,
       .unit = "cores"},
  };
  const double heard = fleet.changes_of_worker * costs.follow_database_s;
  const double sent = fleet.changes_of_worker * costs.stored_bytes;
  std::pair<std::string, double> limits[] = {
      {absl::StrCat(fleet.cores, " cores of the database"),
       MostWorkers(fleet.cores - idle_cores, costs.busy_database_s + heard * front_ends, heard)},
      {absl::StrCat(8e-9 * fleet.network_bytes, " Gbit/s of the database's network"),
       MostWorkers(fleet.network_bytes, sent * front_ends, sent)},
      {"changes, which are written one after the other",
       MostWorkers(costs.changes, fleet.changes_of_worker, 0)},
  };
  std::sort(std::begin(limits), std::end(limits),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, workers] : limits) {
    const bool is_first = name == std::rbegin(limits)->first;
    needs.push_back({.name = absl::StrCat(is_first ? "binds first: " : "binds: ", name),
                     .value = std::floor(workers),
                     .unit = "workers"});
  }
  return needs;
}

Result<std::vector<ServiceFigure>> MeasureModel(const FleetCaseOptions& options,
                                                const RecordGenerator& records) {
  FleetCosts costs;
  const double background_s = BackgroundOf(options);
  MDH_RETURN_IF_ERROR(MeasureIdleDaemons(options, background_s, costs));
  MDH_RETURN_IF_ERROR(MeasureTuningDaemon(options, records, background_s, costs));
  MDH_RETURN_IF_ERROR(MeasureClaimCosts(options, records, costs));
  MDH_RETURN_IF_ERROR(MeasureChanges(options, records, costs));
  // Last: the server goes on for a while with what so many records leave to do.
  MDH_RETURN_IF_ERROR(MeasureStart(options, records, costs));
  std::vector<ServiceFigure> figures = Shown(costs);
  const std::vector<ServiceFigure> needs = NeedsOf(FleetSize(), costs);
  figures.insert(figures.end(), needs.begin(), needs.end());
  return figures;
}

}  // namespace mdh
