// Kernels in C on this machine's CPU.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "tuner/measure/bench.h"
#include "tuner/process/child_process.h"

namespace mdh {

struct CpuBenchOptions {
  std::string path;       // where compilers are looked for, as $PATH
  std::string directory;  // for sources and libraries; exists and is empty
  int threads = 0;        // of a kernel; 0: all cores
};

// The supervisor must outlive the bench. Errors: FailedPrecondition if no compiler works.
Result<std::unique_ptr<Bench>> MakeCpuBench(const CpuBenchOptions& options, Supervisor& supervisor);

}  // namespace mdh
