// What the machine does at best, to be measured in turns with what is compared with it: where other
// guests share the hardware, its speed changes for minutes at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tests/benchmarks/loaded_library.h"

namespace mdh {

// The microbenchmarks of tuner/measure/peaks.h on this process's OpenMP threads. Not thread-safe.
class MachineRates {
 public:
  // Compiles them in `directory`. Errors: FailedPrecondition with the compiler's message.
  static Result<std::unique_ptr<MachineRates>> Load(const DeviceDescription& device,
                                                    const std::string& directory);

  void Compute();  // fp32 multiply-adds in registers
  void Read();     // an array larger than the caches

  // Seconds that no implementation of a case can beat while a call of Compute and one of Read last
  // as long: its operations at that rate, and the bytes that cannot stay in the last-level cache
  // from call to call.
  double Floor(const BenchmarkCase& one, double compute_s, double read_s) const;

 private:
  using Microbenchmark = int (*)(int64_t* stamps, void* scratch);
  MachineRates(const DeviceDescription& device, LoadedLibrary arithmetic, LoadedLibrary bandwidth);

  const LoadedLibrary arithmetic_, bandwidth_;
  const Microbenchmark compute_, read_;
  const double operations_, bytes_, cached_bytes_;  // of a call; that a cache keeps
  std::vector<int64_t> stamps_;                     // pieces + 1 per thread
};

}  // namespace mdh
