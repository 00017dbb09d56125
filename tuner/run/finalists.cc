#include "tuner/run/finalists.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <thread>

#include "tuner/process/clock.h"

namespace mdh {
namespace {

// What loading and checking take beside the calls, as a multiple of these.
constexpr int kOverheadFactor = 2;
constexpr size_t kMostRounds = 200;
// Of kernels that take longer one call is a round.
constexpr int64_t kLongCall = 50'000'000;
// Pauses between rounds that settle nothing: others' work comes in bursts.
constexpr int64_t kFirstPause = 20'000'000;
constexpr int64_t kLongestPause = 500'000'000;
constexpr int64_t kMostUninterrupted = 50'000'000;

MeasureOptions RoundOptions(const TuningOptions& options, absl::Span<const Finalist> finalists) {
  MeasureOptions measure = options.measure;
  measure.best_so_far_ns = 0;
  measure.precision = 0;
  measure.max_time_ns = 2 * measure.target_time_ns;
  const bool is_long = std::ranges::any_of(finalists, [](const Finalist& finalist) {
    return std::max(finalist.search_ns, finalist.expected_ns) > kLongCall;
  });
  if (is_long) measure.min_repeats = 1;
  return measure;
}

// At most `ns`, less after a cancellation.
void Pause(int64_t ns, const std::atomic<bool>& cancelled) {
  for (int64_t left = ns; left > 0 && !cancelled; left -= kMostUninterrupted) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kMostUninterrupted)));
  }
}

// What disturbed one kernel of a turn may have disturbed the others unnoticed.
void SpreadDisturbance(std::vector<Measurement>& turn) {
  const bool is_disturbed = std::ranges::any_of(turn, &Measurement::is_disturbed);
  for (Measurement& measurement : turn) measurement.is_disturbed |= is_disturbed;
}

// Identities of the finalists that were clearly faster than the default in turns with it. Leaves
// the default's own time in `by_rules`.
std::set<std::string> FasterThanRules(absl::Span<const Finalist> finalists,
                                      const InterleavedTimes& times, DefaultKernel& by_rules) {
  std::vector<std::string> identities;
  for (const Finalist& finalist : finalists) identities.push_back(IdentityOf(finalist.kernel));
  const auto found = std::ranges::find(identities, by_rules.identity);
  if (found == identities.end()) return {};
  const auto rules = static_cast<size_t>(found - identities.begin());
  if (const int64_t time_ns = times.Final(rules).time_ns(); time_ns > 0) by_rules.time_ns = time_ns;
  std::set<std::string> faster;
  for (size_t k = 0; k < times.size(); ++k) {
    if (times.IsClearlyFaster(k, rules)) faster.insert(identities[k]);
  }
  return faster;
}

}  // namespace

Status SetNewProblem(Runner& runner, const ComputationView& computation,
                     const TuningOptions& options) {
  const auto set = [&] {
    return runner.SetProblem(computation, options.seed + 1, options.numerics);
  };
  const Status status = set();
  // A runner that has died is started again: an hour's search is not thrown away for that.
  return absl::IsUnavailable(status) ? set() : status;
}

Result<InterleavedTimes> MeasureFinalists(Runner& runner, const ComputationView& computation,
                                          const TuningOptions& options,
                                          absl::Span<const Finalist> finalists, int64_t patience_ns,
                                          const std::atomic<bool>& cancelled) {
  MDH_RETURN_IF_ERROR(SetNewProblem(runner, computation, options));
  return TakeTurns(runner, options, finalists, patience_ns, cancelled);
}

Result<InterleavedTimes> TakeTurns(Runner& runner, const TuningOptions& options,
                                   absl::Span<const Finalist> finalists, int64_t patience_ns,
                                   const std::atomic<bool>& cancelled) {
  const MeasureOptions measure = RoundOptions(options, finalists);
  std::vector<int64_t> search_ns;
  for (const Finalist& finalist : finalists) search_ns.push_back(finalist.search_ns);
  InterleavedTimes times(std::move(search_ns));
  const bool is_first_look =
      std::ranges::all_of(finalists, [](const Finalist& f) { return f.search_ns == 0; });
  int64_t measured_since_ns = 0;  // the first round also compiles
  int64_t pause_ns = kFirstPause;
  for (size_t round = 0; round < kMostRounds && !cancelled; ++round) {
    std::vector<size_t> open = times.Open();
    if (open.empty()) break;
    if (round >= InterleavedTimes::kLeastRounds) {
      if (NowNs() - measured_since_ns + pause_ns > patience_ns) break;
      Pause(pause_ns, cancelled);
      pause_ns = std::min(2 * pause_ns, kLongestPause);
    }
    // Nobody is always the first one, whom the pause has left with cold caches.
    std::rotate(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(round % open.size()),
                open.end());
    std::vector<Kernel> kernels;
    for (const size_t k : open) kernels.push_back(finalists[k].kernel);
    MDH_ASSIGN_OR_RETURN(std::vector<Measurement> measured, runner.Measure(kernels, measure));
    if (measured_since_ns == 0) measured_since_ns = NowNs();
    // At the deadline, or the caller's wish: part of a round says nothing, unless nothing else
    // does.
    const bool is_cut = std::ranges::any_of(measured, WasCancelled);
    if (is_cut && !(round == 0 && is_first_look)) break;
    if (KnowsDisturbanceRoughly(runner.device())) SpreadDisturbance(measured);
    for (size_t n = 0; n < open.size(); ++n) times.AddRound(open[n], measured[n]);
    if (is_cut) break;
  }
  if (measured_since_ns == 0) return Cancelled("cancelled");
  return times;
}

Status MeasureBestAgain(RunnerPool& pool, const FinalsOptions& finals, DefaultKernel& by_rules,
                        TrialHistory& history, const std::atomic<bool>& cancelled) {
  if (finals.tries_nvcc) {
    Kernel kernel = history.best().front().kernel;
    kernel.compiler = Compiler::kNvcc;
    history.AddVariantOfBest(std::move(kernel));
  }
  history.AddKept();
  Status status = absl::OkStatus();
  while (Runner* runner = pool.idle()) {
    std::vector<Finalist> finalists;
    for (const Candidate& candidate : history.best()) {
      finalists.push_back(
          {.kernel = candidate.kernel, .search_ns = SearchTime(candidate.measurement)});
    }
    const Result<InterleavedTimes> times = MeasureFinalists(
        *runner, finals.expression, finals.options, finalists, finals.patience_ns, cancelled);
    status = times.status();
    if (status.ok()) {
      const std::set<std::string> faster = FasterThanRules(finalists, *times, by_rules);
      std::vector<Measurement> measured;
      for (size_t k = 0; k < times->size(); ++k) measured.push_back(times->Final(k));
      MDH_RETURN_IF_ERROR(history.Replace(std::move(measured)));
      if (KnowsDisturbanceRoughly(runner->device())) {
        history.PreferIfUnsettled(by_rules.identity, faster);
      }
      return absl::OkStatus();
    }
    // Without time for new inputs what the trials have shown stands.
    if (absl::IsCancelled(status) || absl::IsDeadlineExceeded(status)) return absl::OkStatus();
    pool.LeaveOut(runner, status);
  }
  return status;
}

bool KnowsDisturbanceRoughly(const DeviceDescription& device) {
  return BackendOf(device.kind).has_blocks && RunsOnHost(device);
}

int64_t FinalistTime(const TuningOptions& options) {
  return kOverheadFactor * options.measure.target_time_ns *
         static_cast<int64_t>(InterleavedTimes::kLeastRounds);
}

}  // namespace mdh
