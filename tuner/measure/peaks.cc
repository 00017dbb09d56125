#include "tuner/measure/peaks.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/kernel/kernel_call.h"
#include "tuner/measure/peak_benchmarks.h"
#include "tuner/measure/trial/candidate_run.h"
#include "tuner/measure/trial/timeline.h"
#include "tuner/measure/trial/verdict.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Some tens of milliseconds: many time slices of a busy machine.
constexpr int64_t kPieces = 4000;
constexpr int64_t kPasses = 4;
// In which threads reach a bandwidth together: shorter than time slices, and many pieces long.
constexpr int64_t kInterval = 1'000'000;
constexpr int64_t kPeakRunLimit = 60'000'000'000;
constexpr size_t kMostMeasurements = 6;
constexpr double kAgreement = 0.97;

class PeakMeasuring {
 public:
  PeakMeasuring(int threads, Compilers& compilers, Supervisor& supervisor)
      : threads_(threads),
        compiler_(compilers.program(Compiler::kGcc) ? Compiler::kGcc : Compiler::kClang),
        compilers_(compilers),
        supervisor_(supervisor) {}

  // Work per second. With threads that share nothing, or all together: that takes a time in which
  // none of them loses its core.
  Result<double> EachAtItsBest(const PeakBenchmark& benchmark) {
    return Rate(
        benchmark, [](const Timeline& timeline) { return timeline.SumOfFastest(); },
        /*needs_quiet=*/false);
  }
  Result<double> Together(const PeakBenchmark& benchmark) {
    return Rate(
        benchmark, [](const Timeline& timeline) { return timeline.BestTogether(kInterval); },
        /*needs_quiet=*/true);
  }
  // Nanoseconds of the fastest call.
  Result<double> LaunchOverhead() {
    MDH_ASSIGN_OR_RETURN(const std::string library, Compile(EmptyRegionSource()));
    MeasureOptions options;
    options.min_repeats = 5;
    options.target_time_ns = 20'000'000;
    options.max_time_ns = 100'000'000;
    MDH_ASSIGN_OR_RETURN(const RunRecord record, Run(library, threads_, options));
    return static_cast<double>(*std::ranges::min_element(record.times_ns));
  }

  // Whether all rates were reached twice.
  bool is_disturbed() const { return is_disturbed_; }

 private:
  Result<double> Rate(const PeakBenchmark& benchmark,
                      const std::function<double(const Timeline&)>& pieces_per_s,
                      bool needs_quiet) {
    MDH_ASSIGN_OR_RETURN(const std::string library, Compile(benchmark.source));
    was_quiet_ = !needs_quiet;
    const auto measure = [&]() -> Result<double> {
      MDH_ASSIGN_OR_RETURN(const Timeline timeline, Trace(library, benchmark.pieces));
      return pieces_per_s(timeline) * benchmark.work_per_piece;
    };
    MDH_ASSIGN_OR_RETURN(const Reproduced rate,
                         MeasureUntilReproduced(measure, [this] { return was_quiet_; }));
    is_disturbed_ = is_disturbed_ || !rate.is_reproduced;
    return rate.most;
  }

  Result<Timeline> Trace(const std::string& library, int64_t pieces) {
    const auto stamps = static_cast<size_t>((pieces + 1) * threads_);
    MeasureOptions once;
    once.max_repeats = 0;
    MDH_ASSIGN_OR_RETURN(const RunRecord record, Run(library, static_cast<int64_t>(stamps), once));
    was_quiet_ = was_quiet_ || !record.is_disturbed;
    std::vector<int64_t> times(stamps);
    std::memcpy(times.data(), record.first->accessible[0].data() + record.data_offsets[0],
                stamps * sizeof(int64_t));
    return Timeline::Create(times, threads_);
  }

  Result<std::string> Compile(const std::string& source) {
    const KernelCall call = {.entry = kPeakEntry, .arguments = 1, .has_scratch = true};
    const CompileJob job = {compiler_, source + CallSource(call), PeakCompileOptions()};
    MDH_ASSIGN_OR_RETURN(const std::vector<CompileOutcome> compiled,
                         compilers_.Compile({job}, 30'000'000'000, supervisor_));
    if (compiled[0].interrupted) return Cancelled("cancelled");
    if (!compiled[0].library.empty()) return compiled[0].library;
    return Internal("a microbenchmark of the machine does not compile: ", compiled[0].reason);
  }

  Result<RunRecord> Run(const std::string& library, int64_t elements,
                        const MeasureOptions& options) {
    CandidateRun run = {.library = library,
                        .entry = kPeakEntry,
                        .threads = threads_,
                        .inputs = {},
                        .outputs = {{"result", ScalarType::kInt64, elements * 8}},
                        .options = options,
                        .final_call = false};
    run.options.run_limit_ns = kPeakRunLimit;
    MDH_ASSIGN_OR_RETURN(RunRecord record, RunCandidate(run, supervisor_));
    if (record.interrupted) return Cancelled("cancelled");
    const Measurement measurement = Judge(record, run, {});
    if (measurement.outcome == TrialOutcome::kOk) return record;
    return Internal("a microbenchmark of the machine failed: ", measurement.reason);
  }

  const int threads_;
  const Compiler compiler_;
  Compilers& compilers_;
  Supervisor& supervisor_;
  bool is_disturbed_ = false;
  bool was_quiet_ = false;  // in one of the traces of the current rate
};

}  // namespace

Result<Reproduced> MeasureUntilReproduced(const std::function<Result<double>()>& measure,
                                          const std::function<bool()>& is_sure, int64_t limit_ns) {
  std::vector<double> seen;
  const int64_t end_ns = NowNs() + limit_ns;
  while (seen.empty() || (seen.size() < kMostMeasurements && NowNs() < end_ns)) {
    MDH_ASSIGN_OR_RETURN(const double figure, measure());
    seen.push_back(figure);
    std::sort(seen.rbegin(), seen.rend());
    const bool is_again = seen.size() > 1 && seen[1] >= kAgreement * seen[0];
    if (is_again && (!is_sure || is_sure())) return Reproduced{seen[0], true};
  }
  return Reproduced{seen[0], false};
}

Result<MachinePeaks> MeasurePeaks(const DeviceDescription& device, int threads,
                                  Compilers& compilers, Supervisor& supervisor) {
  PeakMeasuring measuring(threads, compilers, supervisor);
  const int64_t bytes = PeakBytes(device);
  MachinePeaks peaks;
  MDH_ASSIGN_OR_RETURN(peaks.fp32_flops_per_s, measuring.EachAtItsBest(ArithmeticPeak(
                                                   device, ScalarType::kFloat32, kPieces)));
  MDH_ASSIGN_OR_RETURN(peaks.fp64_flops_per_s, measuring.EachAtItsBest(ArithmeticPeak(
                                                   device, ScalarType::kFloat64, kPieces)));
  MDH_ASSIGN_OR_RETURN(const double cycles_per_s, measuring.EachAtItsBest(ClockPeak(kPieces)));
  peaks.clock_hz = cycles_per_s / threads;
  MDH_ASSIGN_OR_RETURN(peaks.memory_bytes_per_s,
                       measuring.Together(BandwidthPeak(bytes, threads, kPasses)));
  MDH_ASSIGN_OR_RETURN(peaks.copy_bytes_per_s,
                       measuring.Together(CopyPeak(bytes, threads, kPasses)));
  MDH_ASSIGN_OR_RETURN(peaks.launch_overhead_ns, measuring.LaunchOverhead());
  peaks.is_disturbed = measuring.is_disturbed();
  return peaks;
}

}  // namespace mdh
