#include "tests/benchmarks/service/fleet_cases.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/admin_client.h"
#include "client/client.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/benchmarks/interleave.h"
#include "tests/benchmarks/service/measured_server.h"

namespace mdh {
namespace {

constexpr int64_t kFewShared = 1'000;
constexpr int kClaimers = 16;
constexpr double kGiveUpS = 30;
// Who looks without a pause takes a core from those who are to show something.
constexpr absl::Duration kLook = absl::Microseconds(100);

double MillisecondsSince(absl::Time begin) {
  return absl::ToDoubleMilliseconds(absl::Now() - begin);
}

ServiceFigure BesideFile(const std::string& name, const std::string& unit,
                         const std::vector<double>& own, const std::vector<double>& file,
                         double most) {
  return {.name = name,
          .value = Median(own),
          .unit = unit,
          .beside = "SQLite",
          .beside_value = Median(file),
          .ratio = MedianRatio(own, file),
          .at_most = most};
}

void AddPercentiles(const std::string& name, const std::vector<double>& times_ms, double most_p50,
                    double most_p99, std::vector<ServiceFigure>& figures) {
  figures.push_back({.name = name + ", p50",
                     .value = Percentile(times_ms, 0.5),
                     .unit = "ms",
                     .at_most = most_p50});
  figures.push_back({.name = name + ", p99",
                     .value = Percentile(times_ms, 0.99),
                     .unit = "ms",
                     .at_most = most_p99});
}

// Two daemons on one empty database.
struct Pair {
  MeasuredServer a, b;
  std::string address;
};
Result<Pair> StartPair(const FleetCaseOptions& options) {
  Pair pair;
  MDH_ASSIGN_OR_RETURN(pair.address, options.server->NewDatabase());
  MDH_ASSIGN_OR_RETURN(pair.a, StartMdhdOn(options.service, "a", pair.address));
  MDH_ASSIGN_OR_RETURN(pair.b, StartMdhdOn(options.service, "b", pair.address));
  return pair;
}

}  // namespace

Result<std::string> FilledDatabase(const FleetCaseOptions& options, const RecordGenerator& records,
                                   int64_t count) {
  MDH_ASSIGN_OR_RETURN(const std::string address, options.server->NewDatabase());
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenPostgresStore({.address = address}));
  MDH_RETURN_IF_ERROR(records.Fill(*store, count));
  MDH_RETURN_IF_ERROR(PostgresServer::SqlAt(address, "ANALYZE"));
  MDH_RETURN_IF_ERROR(PostgresServer::SqlAt(address, "CHECKPOINT"));
  return address;
}

Result<std::vector<ServiceFigure>> MeasureLookupsOfBoth(const FleetCaseOptions& options,
                                                        const RecordGenerator& records) {
  MDH_RETURN_IF_ERROR(MakeDatabase(options.service, "few", records, kFewShared));
  MDH_ASSIGN_OR_RETURN(const std::string address, FilledDatabase(options, records, kFewShared));
  MDH_ASSIGN_OR_RETURN(const std::vector<grpc::ByteBuffer> requests,
                       LookupRequests(records, SpreadNumbers(kFewShared, 256)));
  MDH_ASSIGN_OR_RETURN(MeasuredServer file, StartMdhd(options.service, "few"));
  MDH_ASSIGN_OR_RETURN(MeasuredServer shared, StartMdhdOn(options.service, "shared", address));
  MeasuredServer* const servers[] = {&file, &shared};
  std::vector<double> p50_us[2], p99_us[2];
  for (int round = 0; round < options.service.rounds; ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      const int n = (round + turn) % 2;
      MDH_ASSIGN_OR_RETURN(
          const std::vector<double> times,
          servers[n]->client->InTurn(kLookupMethod, requests, options.service.window_s));
      p50_us[n].push_back(1e6 * Percentile(times, 0.5));
      p99_us[n].push_back(1e6 * Percentile(times, 0.99));
    }
  }
  return std::vector<ServiceFigure>{BesideFile("lookup, p50", "us", p50_us[1], p50_us[0], 1.05),
                                    BesideFile("lookup, p99", "us", p99_us[1], p99_us[0], 1.05)};
}

namespace {

// Between two stores, without daemons: from before a record is put until the other listener hears.
Result<std::vector<double>> TimesOfListener(const FleetCaseOptions& options,
                                            const RecordGenerator& records) {
  MDH_ASSIGN_OR_RETURN(const std::string address, options.server->NewDatabase());
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Store> one, OpenPostgresStore({.address = address}));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Store> other, OpenPostgresStore({.address = address}));
  std::atomic<int64_t> heard_ns = 0;
  other->SetListener([&](v1::KernelChangeKind, const v1::TuningRecord&) {
    heard_ns = absl::GetCurrentTimeNanos();
  });
  std::vector<double> times_ms;
  for (int n = 0; n < options.puts; ++n) {
    MDH_ASSIGN_OR_RETURN(const StoredResult result, records.Generate(n));
    heard_ns = 0;
    const absl::Time begin = absl::Now();
    MDH_RETURN_IF_ERROR(one->PutResult(result.record, result.kernel).status());
    while (heard_ns == 0 && MillisecondsSince(begin) < 1e3 * kGiveUpS) absl::SleepFor(kLook);
    times_ms.push_back(absl::ToDoubleMilliseconds(absl::FromUnixNanos(heard_ns.load()) - begin));
  }
  return times_ms;
}

// When a watch of a daemon was told of each change.
class WatchTimes {
 public:
  explicit WatchTimes(Client& client)
      : thread_([this, &client](const std::stop_token& stop) { Watch(client, stop); }) {}
  void AwaitBegin() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&has_begun_));
  }
  // Of the latest change, when it is the wanted one.
  absl::Time Await(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto is_there = [&]()
                              ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return times_.size() >= count; };
    mutex_.AwaitWithTimeout(absl::Condition(&is_there), absl::Seconds(kGiveUpS));
    return times_.size() >= count ? times_[count - 1] : absl::InfiniteFuture();
  }

 private:
  void Watch(Client& client, const std::stop_token& stop) {
    const auto take = [this](const v1::WatchKernelsResponse& response) {
      absl::MutexLock lock(&mutex_);
      has_begun_ = true;
      for (int n = 0; n < response.changes_size(); ++n) times_.push_back(absl::Now());
      return true;
    };
    client.WatchKernels("", take, stop).IgnoreError();
  }

  absl::Mutex mutex_;
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<absl::Time> times_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace

Result<std::vector<ServiceFigure>> MeasureVisibility(const FleetCaseOptions& options,
                                                     const RecordGenerator& records) {
  MDH_ASSIGN_OR_RETURN(const std::vector<double> listener_ms, TimesOfListener(options, records));
  MDH_ASSIGN_OR_RETURN(const Pair pair, StartPair(options));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> here,
                       AdminClient::Connect(pair.a.address));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> there, Client::Connect(pair.b.address));
  MDH_ASSIGN_OR_RETURN(const Expression expression, records.ExpressionOf(kFewShared));
  MDH_ASSIGN_OR_RETURN(const v1::GetKernelResponse made,
                       there->GetBestKernel(expression, {}, v1::MATCH_KIND_PREDICTED));
  const v1::KernelKey key = Client::KeyOf(expression);
  WatchTimes watch(*there);
  watch.AwaitBegin();
  std::vector<double> put_ms, lookup_ms, watch_ms;
  for (int n = 0; n < options.puts; ++n) {
    v1::TuningRecord record = made.record();
    record.set_time_ns(1'000'000'000 - n);  // each is better
    const absl::Time begin = absl::Now();
    Status status;
    std::thread put([&] {
      status = here->PutKernel(record).status();
      put_ms.push_back(MillisecondsSince(begin));
    });
    while (MillisecondsSince(begin) < 1e3 * kGiveUpS) {
      const auto found = there->Lookup(key);
      if (found.ok() && found->record().time_ns() == record.time_ns()) break;
      absl::SleepFor(kLook);
    }
    lookup_ms.push_back(MillisecondsSince(begin));
    put.join();
    MDH_RETURN_IF_ERROR(status);
    watch_ms.push_back(absl::ToDoubleMilliseconds(watch.Await(n + 1) - begin));
  }
  std::vector<ServiceFigure> figures;
  AddPercentiles("until another store's listener hears of a put", listener_ms, 5, 20, figures);
  AddPercentiles("until another daemon's lookup shows it", lookup_ms, 5, 20, figures);
  AddPercentiles("until another daemon's watch shows it", watch_ms, 5, 20, figures);
  figures.push_back(
      {.name = "the put itself, p50", .value = Percentile(put_ms, 0.5), .unit = "ms"});
  return figures;
}

Result<std::vector<ServiceFigure>> MeasureStartsOfBoth(const FleetCaseOptions& options,
                                                       const RecordGenerator& records) {
  const int64_t count = options.service.many_records;
  // Making a record takes longer than storing it.
  Result<std::string> address = absl::UnknownError("");
  std::thread filling([&] { address = FilledDatabase(options, records, count); });
  const Status made = MakeDatabase(options.service, "many", records, count);
  filling.join();
  MDH_RETURN_IF_ERROR(made);
  MDH_RETURN_IF_ERROR(address.status());
  MDH_RETURN_IF_ERROR(MakeDatabase(options.service, "few", records, kFewShared));
  MDH_ASSIGN_OR_RETURN(const StoredResult sample, records.Generate(count / 2));
  struct Starts {
    std::vector<double> time_s, cpu_s, database_cpu_s;
    double bytes = 0;
  };
  Starts file, shared;
  for (int start = 0; start < options.starts; ++start) {
    for (Starts* const starts : {&file, &shared}) {
      const double database_s = options.server->CpuSeconds();
      MDH_ASSIGN_OR_RETURN(MeasuredServer many,
                           starts == &file ? StartMdhd(options.service, "many")
                                           : StartMdhdOn(options.service, "shared", *address));
      starts->time_s.push_back(many.start_s);
      starts->database_cpu_s.push_back(options.server->CpuSeconds() - database_s);
      starts->cpu_s.push_back(many.process->CpuSeconds() + starts->database_cpu_s.back());
      starts->bytes = static_cast<double>(many.process->ResidentBytes());
      many.process->Stop();
    }
  }
  MDH_ASSIGN_OR_RETURN(const MeasuredServer few, StartMdhd(options.service, "few"));
  const double empty_bytes = static_cast<double>(few.process->ResidentBytes());
  const std::string what = absl::StrCat(count, " records, ");
  const double own = static_cast<double>(sample.record.ByteSizeLong());
  const double records_count = static_cast<double>(count);
  return std::vector<ServiceFigure>{
      BesideFile(what + "start", "s", shared.time_s, file.time_s, 1.3),
      BesideFile(what + "CPU of all processes for it", "s", shared.cpu_s, file.cpu_s, 1.3),
      {.name = what + "of this the database's",
       .value = Median(shared.database_cpu_s),
       .unit = "s"},
      {.name = what + "start with SQLite", .value = Median(file.time_s), .unit = "s", .at_most = 5},
      {.name = what + "start with PostgreSQL",
       .value = Median(shared.time_s),
       .unit = "s",
       .at_most = 5},
      {.name = "bytes of a record", .value = own, .unit = "bytes"},
      {.name = what + "memory beside its own a record, SQLite",
       .value = (file.bytes - empty_bytes) / records_count - own,
       .unit = "bytes",
       .at_most = 1'000},
      {.name = what + "memory beside its own a record, PostgreSQL",
       .value = (shared.bytes - empty_bytes) / records_count - own,
       .unit = "bytes",
       .at_most = 1'000}};
}

namespace {

// Daemons as the server sees them, each in a thread.
struct Claimer {
  std::unique_ptr<Store> store;
  JobLease lease;
  int64_t count = 0;
  Status status = absl::OkStatus();
};

Status ClaimAll(Claimer& claimer) {
  while (true) {
    MDH_ASSIGN_OR_RETURN(
        const std::vector<ClaimedJob> claimed,
        claimer.store->ClaimJobs(claimer.lease, {.fingerprints = {"cpu some"}, .limit = 1}));
    if (claimed.empty()) return absl::OkStatus();
    ++claimer.count;
  }
}

Status RenewFor(Claimer& claimer, double time_s) {
  claimer.count = 0;
  const absl::Time end = absl::Now() + absl::Seconds(time_s);
  while (absl::Now() < end) {
    MDH_ASSIGN_OR_RETURN(const std::vector<HeldJob> held,
                         claimer.store->RenewLeases(claimer.lease));
    claimer.count += static_cast<int64_t>(held.size());
  }
  return absl::OkStatus();
}

// All at once; what they have counted, a second.
template <typename Work>
Result<double> RateOf(std::array<Claimer, kClaimers>& claimers, const Work& work) {
  const absl::Time begin = absl::Now();
  std::vector<std::thread> threads;
  for (Claimer& claimer : claimers) {
    threads.emplace_back([&work, &claimer] { claimer.status = work(claimer); });
  }
  for (std::thread& thread : threads) thread.join();
  const double time_s = absl::ToDoubleSeconds(absl::Now() - begin);
  double count = 0;
  for (const Claimer& claimer : claimers) {
    MDH_RETURN_IF_ERROR(claimer.status);
    count += static_cast<double>(claimer.count);
  }
  return count / time_s;
}

}  // namespace

Result<std::vector<ServiceFigure>> MeasureClaims(const FleetCaseOptions& options,
                                                 const RecordGenerator& records) {
  MDH_ASSIGN_OR_RETURN(const std::string address, options.server->NewDatabase());
  std::array<Claimer, kClaimers> claimers;
  for (int n = 0; n < kClaimers; ++n) {
    claimers[n].lease = {absl::StrCat("claimer ", n), absl::Seconds(45)};
    MDH_ASSIGN_OR_RETURN(claimers[n].store, OpenPostgresStore({.address = address}));
  }
  MDH_ASSIGN_OR_RETURN(const StoredResult sample, records.Generate(0));
  v1::TuningJob job;
  job.set_state(v1::TUNING_JOB_STATE_QUEUED);
  job.set_expression_text(sample.record.expression_text());
  *job.mutable_key() = sample.record.key();
  job.mutable_key()->set_device_fingerprint("cpu some");
  for (int n = 0; n < options.claimed_jobs; ++n) {
    MDH_RETURN_IF_ERROR(claimers[0].store->InsertJob(job).status());
  }
  MDH_ASSIGN_OR_RETURN(const double claims, RateOf(claimers, ClaimAll));
  MDH_ASSIGN_OR_RETURN(const double renewals, RateOf(claimers, [&](Claimer& claimer) {
                         return RenewFor(claimer, options.renewing_s);
                       }));
  return std::vector<ServiceFigure>{
      {.name = "claims, 16 daemons", .value = claims, .unit = "1/s", .at_least = 500},
      {.name = "renewals, 16 daemons", .value = renewals, .unit = "1/s", .at_least = 5'000}};
}

namespace {

Status AwaitState(Client& client, const std::string& name, v1::TuningJobState state) {
  const absl::Time begin = absl::Now();
  while (MillisecondsSince(begin) < 1e3 * kGiveUpS) {
    MDH_ASSIGN_OR_RETURN(const v1::GetTuningJobResponse job, client.GetJob(name));
    const bool has_trials = job.job().progress().trials() > 0;
    if (job.job().state() == state && (has_trials || state != v1::TUNING_JOB_STATE_RUNNING)) {
      return absl::OkStatus();
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
  return absl::DeadlineExceededError(
      absl::StrCat(name, " is not ", v1::TuningJobState_Name(state)));
}

}  // namespace

Result<std::vector<ServiceFigure>> MeasureCancels(const FleetCaseOptions& options,
                                                  const RecordGenerator& records) {
  MDH_ASSIGN_OR_RETURN(const Pair pair, StartPair(options));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> here, Client::Connect(pair.a.address));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> there, Client::Connect(pair.b.address));
  std::vector<double> times_ms;
  for (int n = 0; n < options.cancels; ++n) {
    MDH_ASSIGN_OR_RETURN(const Expression expression, records.ExpressionOf(8 * kFewShared + 4 * n));
    MDH_ASSIGN_OR_RETURN(
        const v1::CreateTuningJobResponse created,
        here->CreateJob(expression, {.budget_ns = 600'000'000'000, .force = true}));
    const std::string& name = created.job().name();
    MDH_RETURN_IF_ERROR(AwaitState(*here, name, v1::TUNING_JOB_STATE_RUNNING));
    const absl::Time begin = absl::Now();
    MDH_RETURN_IF_ERROR(there->Cancel(name).status());
    MDH_RETURN_IF_ERROR(AwaitState(*there, name, v1::TUNING_JOB_STATE_CANCELLED));
    times_ms.push_back(MillisecondsSince(begin));
  }
  std::vector<ServiceFigure> figures;
  AddPercentiles("cancel of another daemon's job", times_ms, 1'000, 1'000, figures);
  return figures;
}

}  // namespace mdh
