// Arithmetic: independent chains of multiply-adds on vector registers. Bandwidth: sums over an
// array larger than the caches.
#include "tuner/measure/peaks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernel_call.h"
#include "tuner/measure/candidate_run.h"
#include "tuner/measure/verdict.h"

namespace mdh {
namespace {

constexpr int64_t kSteps = 1 << 20;  // of every chain, per call
constexpr int64_t kLeastBytes = 256 << 20;
constexpr char kEntry[] = "mdh_peak";

// Enough chains to cover the latency of two units; four registers stay for operands.
int Chains(const DeviceDescription& device) {
  return std::clamp(device.vector_registers - 4, 4, 24);
}

int Lanes(const DeviceDescription& device, ScalarType type) {
  return std::max(device.simd_bytes / SizeBytes(type), 1);
}

// $0 element type, $1 vector bytes, $2 chains, $3 steps.
constexpr char kArithmetic[] = R"(#include <omp.h>
#include <stdint.h>
typedef $0 vector __attribute__((vector_size($1)));
static volatile $0 factor_value = ($0)0.999, addend_value = ($0)0.001;
static $0 work(void) {
  vector factor = factor_value - (vector){0}, addend = addend_value - (vector){0};
  vector chain[$2];
  for (int c = 0; c < $2; ++c) chain[c] = addend * ($0)(c + 1);
  for (int64_t step = 0; step < $3; ++step) {
#pragma GCC unroll 64
    for (int c = 0; c < $2; ++c) chain[c] = chain[c] * factor + addend;
  }
  vector sum = chain[0];
  for (int c = 1; c < $2; ++c) sum += chain[c];
  $0 total = 0;
  for (unsigned lane = 0; lane < $1 / sizeof($0); ++lane) total += sum[lane];
  return total;
}
int64_t mdh_peak_scratch_bytes(int threads) { (void)threads; return 0; }
int mdh_peak(double* result, void* scratch) {
  (void)scratch;
#pragma omp parallel
  result[omp_get_thread_num()] = (double)work();
  return 0;
}
)";

// $0 elements. Every thread touches its own part first, so that it lies in its own memory node.
constexpr char kBandwidth[] = R"(#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
typedef double vector __attribute__((vector_size(64), aligned(8)));
static double* data;
static const int64_t elements = $0;
static int64_t part_begin(int thread, int threads) {
  return elements / 8 * thread / threads * 8;
}
int64_t mdh_peak_scratch_bytes(int threads) { (void)threads; return 0; }
int mdh_peak(double* result, void* scratch) {
  (void)scratch;
  const int first = data == NULL;
  if (first) data = aligned_alloc(64, elements * sizeof(double));
  if (data == NULL) return 1;
#pragma omp parallel
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const int64_t begin = part_begin(thread, threads), end = part_begin(thread + 1, threads);
    if (first) for (int64_t i = begin; i < end; ++i) data[i] = (double)(i % 7);
#pragma omp barrier
    vector sum[4] = {{0}, {0}, {0}, {0}};
    int64_t i = begin;
    for (; i + 32 <= end; i += 32) {
      for (int v = 0; v < 4; ++v) sum[v] += *(const vector*)(data + i + 8 * v);
    }
    double total = 0;
    for (; i < end; ++i) total += data[i];
    sum[0] += sum[1] + sum[2] + sum[3];
    for (int lane = 0; lane < 8; ++lane) total += sum[0][lane];
    result[thread] = total;
  }
  return 0;
}
)";

// $0 elements, half of which are copied to the other half.
constexpr char kCopy[] = R"(#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static double* data;
static const int64_t elements = $0;
int64_t mdh_peak_scratch_bytes(int threads) { (void)threads; return 0; }
int mdh_peak(double* result, void* scratch) {
  (void)scratch;
  const int first = data == NULL;
  if (first) data = aligned_alloc(64, elements * sizeof(double));
  if (data == NULL) return 1;
#pragma omp parallel
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const int64_t half = elements / 2;
    const int64_t begin = half / 8 * thread / threads * 8;
    const int64_t end = thread + 1 == threads ? half : half / 8 * (thread + 1) / threads * 8;
    if (first) {
      for (int64_t i = begin; i < end; ++i) data[i] = data[half + i] = (double)(i % 7);
    }
#pragma omp barrier
    memcpy(data + half + begin, data + begin, (end - begin) * sizeof(double));
    result[thread] = data[half + begin];
  }
  return 0;
}
)";

// An empty parallel region: what a call costs at least.
constexpr char kEmpty[] = R"(#include <omp.h>
#include <stdint.h>
int64_t mdh_peak_scratch_bytes(int threads) { (void)threads; return 0; }
int mdh_peak(double* result, void* scratch) {
  (void)scratch;
#pragma omp parallel
  result[omp_get_thread_num()] = 1;
  return 0;
}
)";

// Seconds of the fastest call.
Result<double> BestTime(const std::string& library, int threads, Supervisor& supervisor) {
  CandidateRun run = {.library = library,
                      .entry = kEntry,
                      .threads = threads,
                      .inputs = {},
                      .outputs = {{"result", ScalarType::kFloat64, threads * 8}},
                      .options = {},
                      .final_call = false};
  run.options.run_limit_ns = 60'000'000'000;
  run.options.min_repeats = 5;
  run.options.target_time_ns = 200'000'000;
  MDH_ASSIGN_OR_RETURN(const RunRecord record, RunCandidate(run, supervisor));
  const Measurement measurement = Judge(record, run, {});
  if (record.interrupted) return absl::CancelledError("cancelled");
  if (measurement.outcome != TrialOutcome::kOk) {
    return absl::InternalError(
        absl::StrCat("a microbenchmark of the machine failed: ", measurement.reason));
  }
  return *std::min_element(measurement.times_ns.begin(), measurement.times_ns.end()) * 1e-9;
}

}  // namespace

std::string ArithmeticPeakSource(const DeviceDescription& device, ScalarType type) {
  return absl::Substitute(kArithmetic, type == ScalarType::kFloat32 ? "float" : "double",
                          Lanes(device, type) * SizeBytes(type), Chains(device), kSteps);
}

std::string BandwidthPeakSource(int64_t bytes) { return absl::Substitute(kBandwidth, bytes / 8); }

std::string CopyPeakSource(int64_t bytes) { return absl::Substitute(kCopy, bytes / 8); }

std::vector<std::string> PeakCompileOptions() {
  return {"-O2", "-march=native", "-ffp-contract=fast", "-fopenmp"};
}

double ArithmeticPeakOperations(const DeviceDescription& device, ScalarType type) {
  return 2.0 * static_cast<double>(kSteps) * Chains(device) * Lanes(device, type);
}

int64_t PeakBytes(const DeviceDescription& device) {
  return std::max(kLeastBytes, 4 * device.l3_bytes) / 64 * 64;
}

Result<MachinePeaks> MeasurePeaks(const DeviceDescription& device, int threads,
                                  Compilers& compilers, Supervisor& supervisor) {
  const Compiler compiler = compilers.program(Compiler::kGcc) ? Compiler::kGcc : Compiler::kClang;
  const int64_t bytes = PeakBytes(device);
  const KernelCall call = {.entry = kEntry, .arguments = 1, .has_scratch = true};
  std::vector<CompileJob> jobs;
  for (const std::string& source :
       {ArithmeticPeakSource(device, ScalarType::kFloat32),
        ArithmeticPeakSource(device, ScalarType::kFloat64), BandwidthPeakSource(bytes),
        CopyPeakSource(bytes), std::string(kEmpty)}) {
    jobs.push_back({compiler, source + CallSource(call), PeakCompileOptions()});
  }
  MDH_ASSIGN_OR_RETURN(const std::vector<CompileOutcome> compiled,
                       compilers.Compile(jobs, 30'000'000'000, supervisor));
  std::vector<double> seconds;
  for (const CompileOutcome& outcome : compiled) {
    if (outcome.interrupted) return absl::CancelledError("cancelled");
    if (outcome.library.empty()) {
      return absl::InternalError(
          absl::StrCat("a microbenchmark of the machine does not compile: ", outcome.reason));
    }
    MDH_ASSIGN_OR_RETURN(const double best, BestTime(outcome.library, threads, supervisor));
    seconds.push_back(best);
  }
  const auto flops = [&](ScalarType type) {
    return ArithmeticPeakOperations(device, type) * threads;
  };
  return MachinePeaks{.fp32_flops_per_s = flops(ScalarType::kFloat32) / seconds[0],
                      .fp64_flops_per_s = flops(ScalarType::kFloat64) / seconds[1],
                      .memory_bytes_per_s = static_cast<double>(bytes) / seconds[2],
                      .copy_bytes_per_s = static_cast<double>(bytes) / seconds[3],
                      .launch_overhead_ns = seconds[4] * 1e9};
}

}  // namespace mdh
