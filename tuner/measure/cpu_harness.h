// Kernels in C on this machine's CPU.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "tuner/measure/harness.h"
#include "tuner/process/child_process.h"

namespace mdh {

struct CpuHarnessOptions {
  std::string path;       // where compilers are looked for, as $PATH
  std::string directory;  // for sources and libraries; exists and is empty
  int threads = 0;        // of a kernel; 0: all cores
};

// The supervisor must outlive the harness. Errors: FailedPrecondition if no compiler works.
Result<std::unique_ptr<Harness>> MakeCpuHarness(const CpuHarnessOptions& options,
                                                Supervisor& supervisor);

}  // namespace mdh
