#include "tuner/measure/peak_benchmarks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace mdh {
namespace {

constexpr int64_t kArithmeticSteps = 1 << 12;  // of every chain, in a piece
constexpr int64_t kClockSteps = 1 << 14;       // of two operations
constexpr int64_t kPieceBytes = 128 << 10;
constexpr int64_t kLeastBytes = 256 << 20;

// Enough chains to cover the latency of two units; four registers stay for operands.
int Chains(const DeviceDescription& device) {
  return std::clamp(device.vector_registers - 4, 4, 24);
}

int Lanes(const DeviceDescription& device, ScalarType type) {
  return std::max(device.simd_bytes / SizeBytes(type), 1);
}

// $0 pieces.
constexpr char kPrologue[] = R"(#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
enum { kPieces = $0 };
static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}
int64_t mdh_peak_scratch_bytes(int threads) { (void)threads; return 0; }
)";

// One thread after the other would not be what all of them reach together: they begin at once.
constexpr char kTimedLoop[] = R"(int mdh_peak(int64_t* stamps, void* scratch) {
  (void)scratch;
#pragma omp parallel
  {
    int64_t* own = stamps + (int64_t)omp_get_thread_num() * (kPieces + 1);
#pragma omp barrier
    for (int p = 0; p < kPieces; ++p) {
      own[p] = now();
      work();
    }
    own[kPieces] = now();
  }
  return 0;
}
)";

// $0 element type, $1 vector bytes, $2 chains, $3 steps.
constexpr char kArithmetic[] = R"(typedef $0 vector __attribute__((vector_size($1)));
static volatile $0 factor_value = ($0)0.999, addend_value = ($0)0.001;
static void work(void) {
  vector factor = factor_value - (vector){0}, addend = addend_value - (vector){0};
  vector chain[$2];
  for (int c = 0; c < $2; ++c) chain[c] = addend * ($0)(c + 1);
  for (int64_t step = 0; step < $3; ++step) {
#pragma GCC unroll 64
    for (int c = 0; c < $2; ++c) chain[c] = chain[c] * factor + addend;
  }
  vector sum = chain[0];
  for (int c = 1; c < $2; ++c) sum += chain[c];
  volatile vector sink = sum;
  (void)sink;
}
)";

// $0 steps: a rotation and an exclusive or, which no processor does at once.
constexpr char kClock[] = R"(static volatile uint64_t operand_value = UINT64_C(0x9E3779B97F4A7C15);
static void work(void) {
  const uint64_t operand = operand_value;
  uint64_t chain = operand;
  for (int64_t step = 0; step < $0; ++step) {
    chain = (chain << 7 | chain >> 57) ^ operand;
    __asm__ volatile("" : "+r"(chain));
  }
  volatile uint64_t sink = chain;
  (void)sink;
}
)";

// Arrays of `elements`, of which every thread has a part that it touches first, so that it lies in
// its own memory node. $0 elements, $1 elements of a piece, $2 pieces of a thread's part, $3 what
// is done with one.
constexpr char kMemory[] = R"(typedef double vector __attribute__((vector_size(64), aligned(8)));
static double* data;
static const int64_t elements = $0;
static void work(double* piece) {
$3
}
int mdh_peak(int64_t* stamps, void* scratch) {
  (void)scratch;
  const int first = data == NULL;
  if (first) data = aligned_alloc(64, elements * sizeof(double));
  if (data == NULL) return 1;
#pragma omp parallel
  {
    const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
    double* part = data + elements / threads / 8 * 8 * thread;
    if (first) for (int64_t i = 0; i < elements / threads; ++i) part[i] = (double)(i % 7);
    int64_t* own = stamps + thread * (kPieces + 1);
#pragma omp barrier
    for (int p = 0; p < kPieces; ++p) {
      own[p] = now();
      work(part + (int64_t)(p % $2) * $1);
    }
    own[kPieces] = now();
  }
  return 0;
}
)";

// $0 elements.
constexpr char kSum[] = R"(  vector sum[4] = {{0}, {0}, {0}, {0}};
  for (int64_t i = 0; i < $0; i += 32) {
    for (int v = 0; v < 4; ++v) sum[v] += *(const vector*)(piece + i + 8 * v);
  }
  volatile vector sink = sum[0] + sum[1] + sum[2] + sum[3];
  (void)sink;)";

// $0 elements.
constexpr char kCopyHalf[] = "  memcpy(piece + $0 / 2, piece, $0 / 2 * sizeof(double));";

constexpr char kEmpty[] = R"(#include <omp.h>
#include <stdint.h>
int64_t mdh_peak_scratch_bytes(int threads) { (void)threads; return 0; }
int mdh_peak(int64_t* result, void* scratch) {
  (void)scratch;
#pragma omp parallel
  result[omp_get_thread_num()] = 1;
  return 0;
}
)";

PeakBenchmark MemoryPeak(const char* body, int64_t bytes, int threads, int64_t passes) {
  constexpr int64_t kElements = kPieceBytes / 8;
  const int64_t part = std::max<int64_t>(bytes / threads / kPieceBytes, 1);
  const std::string loops = absl::Substitute(kMemory, part * kElements * threads, kElements, part,
                                             absl::Substitute(body, kElements));
  return {.source = absl::StrCat(absl::Substitute(kPrologue, part * passes), loops),
          .pieces = part * passes,
          .work_per_piece = static_cast<double>(kPieceBytes)};
}

}  // namespace

PeakBenchmark ArithmeticPeak(const DeviceDescription& device, ScalarType type, int64_t pieces) {
  const int chains = Chains(device), lanes = Lanes(device, type);
  const std::string work =
      absl::Substitute(kArithmetic, type == ScalarType::kFloat32 ? "float" : "double",
                       lanes * SizeBytes(type), chains, kArithmeticSteps);
  return {.source = absl::StrCat(absl::Substitute(kPrologue, pieces), work, kTimedLoop),
          .pieces = pieces,
          .work_per_piece = 2.0 * static_cast<double>(kArithmeticSteps) * chains * lanes};
}

PeakBenchmark ClockPeak(int64_t pieces) {
  return {.source = absl::StrCat(absl::Substitute(kPrologue, pieces),
                                 absl::Substitute(kClock, kClockSteps), kTimedLoop),
          .pieces = pieces,
          .work_per_piece = 2.0 * static_cast<double>(kClockSteps)};
}

PeakBenchmark BandwidthPeak(int64_t bytes, int threads, int64_t passes) {
  return MemoryPeak(kSum, bytes, threads, passes);
}

PeakBenchmark CopyPeak(int64_t bytes, int threads, int64_t passes) {
  return MemoryPeak(kCopyHalf, bytes, threads, passes);
}

std::string EmptyRegionSource() { return kEmpty; }

std::vector<std::string> PeakCompileOptions() {
  return {"-O2", "-march=native", "-ffp-contract=fast", "-fopenmp"};
}

int64_t PeakBytes(const DeviceDescription& device) {
  return std::max(kLeastBytes, 4 * device.l3_bytes) / 64 * 64;
}

}  // namespace mdh
