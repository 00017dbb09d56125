#include "tests/benchmarks/service/service_cases.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "client/lookup_cache.h"
#include "tests/benchmarks/interleave.h"
#include "tests/benchmarks/service/measured_server.h"

namespace mdh {
namespace {

constexpr int64_t kFewRecords = 1'000;
constexpr int kOutstanding = 64;
constexpr int kBatch = 100;
// So many different requests that no cache of requests has most of them.
constexpr int kManyRequests = 100'000;

// What one server showed in all rounds; each vector has one entry a round.
struct Rounds {
  std::vector<double> p50_us, p99_us, rate, batch_us, cpu_us;
};

ServiceFigure Compare(const std::string& name, const std::string& unit,
                      const std::vector<double>& own, const std::string& beside,
                      const std::vector<double>& other) {
  return {.name = name,
          .value = Median(own),
          .unit = unit,
          .beside = beside,
          .beside_value = Median(other),
          .ratio = MedianRatio(own, other)};
}

ServiceFigure AtMost(ServiceFigure figure, double bound) {
  figure.at_most = bound;
  return figure;
}
ServiceFigure AtLeast(ServiceFigure figure, double bound) {
  figure.at_least = bound;
  return figure;
}

Status AddInTurn(MeasuredServer& server, absl::Span<const grpc::ByteBuffer> requests,
                 double window_s, Rounds& rounds) {
  MDH_ASSIGN_OR_RETURN(const std::vector<double> times,
                       server.client->InTurn(kLookupMethod, requests, window_s));
  rounds.p50_us.push_back(1e6 * Percentile(times, 0.5));
  rounds.p99_us.push_back(1e6 * Percentile(times, 0.99));
  return absl::OkStatus();
}

Status AddRate(MeasuredServer& server, absl::Span<const grpc::ByteBuffer> requests, double window_s,
               Rounds& rounds) {
  const double cpu_s = server.process->CpuSeconds();
  MDH_ASSIGN_OR_RETURN(const double rate,
                       server.client->Rate(kLookupMethod, requests, kOutstanding, window_s));
  rounds.rate.push_back(rate);
  rounds.cpu_us.push_back(1e6 * (server.process->CpuSeconds() - cpu_s) / (rate * window_s));
  return absl::OkStatus();
}

Status AddBatch(MeasuredServer& server, const grpc::ByteBuffer& batch, double window_s,
                Rounds& rounds) {
  MDH_ASSIGN_OR_RETURN(
      const std::vector<double> times,
      server.client->InTurn(kBatchMethod, absl::MakeConstSpan(&batch, 1), window_s));
  rounds.batch_us.push_back(1e6 * Percentile(times, 0.5));
  return absl::OkStatus();
}

// Calls `measure` with the number of each server once a round, in an order that changes.
template <typename Measure>
Status InRounds(int rounds, int servers, const Measure& measure) {
  for (int round = 0; round < rounds; ++round) {
    for (int n = 0; n < servers; ++n) MDH_RETURN_IF_ERROR(measure((round + n) % servers));
  }
  return absl::OkStatus();
}

Status ExpectLookup(MeasuredServer& server, const grpc::ByteBuffer& request) {
  MDH_ASSIGN_OR_RETURN(const std::string reply, server.client->Call(kLookupMethod, request));
  v1::LookupKernelResponse response;
  if (!response.ParseFromString(reply) || response.match() != v1::MATCH_KIND_EXACT) {
    return absl::InternalError("a lookup gave no exact match");
  }
  return absl::OkStatus();
}

}  // namespace

Result<std::vector<ServiceFigure>> MeasureLookups(const ServiceCaseOptions& options,
                                                  const RecordGenerator& records) {
  MDH_RETURN_IF_ERROR(MakeDatabase(options, "few", records, kFewRecords));
  MDH_ASSIGN_OR_RETURN(const std::vector<grpc::ByteBuffer> requests,
                       LookupRequests(records, SpreadNumbers(kFewRecords, 256)));
  MDH_ASSIGN_OR_RETURN(const grpc::ByteBuffer batch,
                       BatchRequest(records, SpreadNumbers(kFewRecords, kBatch)));
  MDH_ASSIGN_OR_RETURN(MeasuredServer ours, StartMdhd(options, "few"));
  MDH_RETURN_IF_ERROR(ExpectLookup(ours, requests[0]));
  MDH_ASSIGN_OR_RETURN(const std::string reply, ours.client->Call(kLookupMethod, requests[0]));
  MDH_ASSIGN_OR_RETURN(const std::string batch_reply, ours.client->Call(kBatchMethod, batch));
  MDH_ASSIGN_OR_RETURN(MeasuredServer floor, StartFloor(options, reply.size(), batch_reply.size()));
  MeasuredServer* servers[] = {&floor, &ours};
  Rounds rounds[2];
  MDH_RETURN_IF_ERROR(InRounds(options.rounds, 2, [&](int n) {
    return AddInTurn(*servers[n], requests, options.window_s, rounds[n]);
  }));
  MDH_RETURN_IF_ERROR(InRounds(options.rounds, 2, [&](int n) {
    return AddRate(*servers[n], requests, options.window_s, rounds[n]);
  }));
  MDH_RETURN_IF_ERROR(InRounds(options.rounds, 2, [&](int n) {
    return AddBatch(*servers[n], batch, options.window_s, rounds[n]);
  }));
  const auto& [of_floor, of_ours] = rounds;
  return std::vector<ServiceFigure>{
      AtMost(Compare("one at a time, p50", "us", of_ours.p50_us, "floor", of_floor.p50_us), 1.4),
      AtMost(Compare("one at a time, p99", "us", of_ours.p99_us, "floor", of_floor.p99_us), 1.6),
      AtLeast(Compare("64 at a time, rate", "1/s", of_ours.rate, "floor", of_floor.rate), 0.65),
      AtMost(Compare("batch of 100", "us", of_ours.batch_us, "floor", of_floor.batch_us), 1.5),
      Compare("64 at a time, server's CPU a lookup", "us", of_ours.cpu_us, "floor",
              of_floor.cpu_us),
      {.name = "bytes of a reply",
       .value = static_cast<double>(reply.size()),
       .unit = "bytes",
       .beside = ""},
      {.name = "bytes of a batch's reply",
       .value = static_cast<double>(batch_reply.size()),
       .unit = "bytes"}};
}

Result<std::vector<ServiceFigure>> MeasureWhileTuning(const ServiceCaseOptions& options,
                                                      const RecordGenerator& records) {
  MDH_RETURN_IF_ERROR(MakeDatabase(options, "few", records, kFewRecords));
  MDH_ASSIGN_OR_RETURN(const std::vector<grpc::ByteBuffer> requests,
                       LookupRequests(records, SpreadNumbers(kFewRecords, 256)));
  MDH_ASSIGN_OR_RETURN(MeasuredServer ours, StartMdhd(options, "few"));
  MDH_ASSIGN_OR_RETURN(MeasuredServer floor, StartFloor(options, 4'096, 4'096));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(ours.address));
  // Of a record that no lookup asks for.
  MDH_ASSIGN_OR_RETURN(const Expression expression, records.ExpressionOf(8 * kFewRecords));
  Rounds quiet, tuning, floor_tuning;
  const int rounds = std::max(1, options.rounds / 5);
  for (int round = 0; round < rounds; ++round) {
    MDH_RETURN_IF_ERROR(AddInTurn(ours, requests, options.tuning_window_s, quiet));
    MDH_ASSIGN_OR_RETURN(const v1::CreateTuningJobResponse job,
                         client->CreateJob(expression, {.budget_ns = 600'000'000'000,
                                                        .seed = static_cast<uint64_t>(round) + 1,
                                                        .force = true}));
    // Peaks are measured and the first candidates compiled.
    std::this_thread::sleep_for(std::chrono::duration<double>(options.tuning_window_s));
    MDH_RETURN_IF_ERROR(AddInTurn(ours, requests, options.tuning_window_s, tuning));
    MDH_RETURN_IF_ERROR(AddInTurn(floor, requests, options.tuning_window_s, floor_tuning));
    MDH_ASSIGN_OR_RETURN(const v1::TuningJob cancelled, client->Cancel(job.job().name()));
    if (cancelled.progress().trials() == 0) return absl::InternalError("no job tuned meanwhile");
    client->Watch(job.job().name(), 0, {}).IgnoreError();
  }
  return std::vector<ServiceFigure>{
      Compare("while a job tunes, p50", "us", tuning.p50_us, "quiet", quiet.p50_us),
      AtMost(Compare("while a job tunes, p99", "us", tuning.p99_us, "quiet", quiet.p99_us), 3),
      Compare("while a job tunes, p99 beside the floor's then", "us", tuning.p99_us, "floor",
              floor_tuning.p99_us)};
}

Result<std::vector<ServiceFigure>> MeasureClientCache(const ServiceCaseOptions& options,
                                                      const RecordGenerator& records) {
  MDH_RETURN_IF_ERROR(MakeDatabase(options, "few", records, kFewRecords));
  MDH_ASSIGN_OR_RETURN(const MeasuredServer ours, StartMdhd(options, "few"));
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(ours.address));
  LookupCache cache(*client);
  std::vector<v1::KernelKey> keys;
  for (const int64_t number : SpreadNumbers(kFewRecords, 256)) {
    MDH_ASSIGN_OR_RETURN(const Expression expression, records.ExpressionOf(number));
    keys.push_back(Client::KeyOf(expression));
  }
  constexpr int kCalls = 100'000;
  std::vector<double> hit_us;
  // The first rounds fill it, as soon as the stream of changes has begun.
  for (int round = 0; round < 3 + options.rounds || cache.counts().hits == 0; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const LookupCache::Counts before = cache.counts();
    const int calls = before.hits == 0 ? 256 : kCalls;
    for (int call = 0; call < calls; ++call) {
      MDH_RETURN_IF_ERROR(cache.Lookup(keys[call % keys.size()]).status());
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    if (cache.counts().calls == before.calls) hit_us.push_back(time.count() / calls);
  }
  if (hit_us.empty()) return absl::InternalError("the client's cache keeps nothing");
  return std::vector<ServiceFigure>{
      {.name = "hit of the client's cache", .value = Median(hit_us), .unit = "us", .at_most = 1}};
}

Result<std::vector<ServiceFigure>> MeasureManyRecords(const ServiceCaseOptions& options,
                                                      const RecordGenerator& records) {
  MDH_RETURN_IF_ERROR(MakeDatabase(options, "few", records, kFewRecords));
  MDH_RETURN_IF_ERROR(MakeDatabase(options, "many", records, options.many_records));
  const int different = static_cast<int>(std::min<int64_t>(kManyRequests, options.many_records));
  MDH_ASSIGN_OR_RETURN(const std::vector<grpc::ByteBuffer> few_requests,
                       LookupRequests(records, SpreadNumbers(kFewRecords, kFewRecords)));
  MDH_ASSIGN_OR_RETURN(const std::vector<grpc::ByteBuffer> many_requests,
                       LookupRequests(records, SpreadNumbers(options.many_records, different)));
  std::vector<double> starts_s;
  MeasuredServer many;
  for (int start = 0; start < 3; ++start) {
    many = {};
    MDH_ASSIGN_OR_RETURN(many, StartMdhd(options, "many"));
    MDH_RETURN_IF_ERROR(ExpectLookup(many, many_requests.back()));
    starts_s.push_back(many.start_s);
    if (start < 2) many.process->Stop();
  }
  MDH_ASSIGN_OR_RETURN(MeasuredServer few, StartMdhd(options, "few"));
  MeasuredServer* servers[] = {&few, &many};
  const absl::Span<const grpc::ByteBuffer> requests[] = {few_requests, many_requests};
  Rounds rounds[2];
  MDH_RETURN_IF_ERROR(InRounds(options.rounds, 2, [&](int n) {
    return AddInTurn(*servers[n], requests[n], options.window_s, rounds[n]);
  }));
  MDH_RETURN_IF_ERROR(InRounds(options.rounds, 2, [&](int n) {
    return AddRate(*servers[n], requests[n], options.window_s, rounds[n]);
  }));
  const auto& [of_few, of_many] = rounds;
  const std::string what = absl::StrCat(options.many_records, " records, ");
  const double count = static_cast<double>(options.many_records);
  return std::vector<ServiceFigure>{
      {.name = what + "start", .value = Median(starts_s), .unit = "s", .at_most = 5},
      Compare(what + "p50", "us", of_many.p50_us, "1000 records", of_few.p50_us),
      Compare(what + "p99", "us", of_many.p99_us, "1000 records", of_few.p99_us),
      Compare(what + "64 at a time", "1/s", of_many.rate, "1000 records", of_few.rate),
      {.name = what + "memory of mdhd",
       .value = static_cast<double>(many.process->ResidentBytes()),
       .unit = "bytes"},
      {.name = what + "memory a record",
       .value = static_cast<double>(many.process->ResidentBytes() - few.process->ResidentBytes()) /
                count,
       .unit = "bytes"}};
}

}  // namespace mdh
