// Microbenchmarks in C of what a machine can do at best.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/device_description.h"
#include "core/scalar/scalar_type.h"

namespace mdh {

// A C source with the entry `int mdh_peak(int64_t* stamps, void* scratch)`. Every thread of OpenMP
// writes the times in nanoseconds at which its pieces of work begin, and at which the last one
// ends: pieces + 1 of them, those of thread t from stamps[t * (pieces + 1)] on (Timeline).
struct PeakBenchmark {
  std::string source;
  int64_t pieces = 0;         // of each thread
  double work_per_piece = 0;  // operations, bytes or cycles
};
inline constexpr char kPeakEntry[] = "mdh_peak";

// Independent chains of multiply-adds on vector registers; of `type` fp32 or fp64. A piece takes
// some ten microseconds.
PeakBenchmark ArithmeticPeak(const DeviceDescription& device, ScalarType type, int64_t pieces);
// One chain of operations that take one cycle each; work is counted in cycles.
PeakBenchmark ClockPeak(int64_t pieces);
// Sums over an array of about `bytes`, which is larger than the caches, `passes` times.
PeakBenchmark BandwidthPeak(int64_t bytes, int threads, int64_t passes);
// Half of such an array is copied to the other half; bytes read and bytes written count.
PeakBenchmark CopyPeak(int64_t bytes, int threads, int64_t passes);
// An empty parallel region, without times: what a call costs at least.
std::string EmptyRegionSource();

std::vector<std::string> PeakCompileOptions();
// Of arrays that no cache of the device keeps.
int64_t PeakBytes(const DeviceDescription& device);

}  // namespace mdh
