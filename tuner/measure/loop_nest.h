// Untuned kernels on this machine's CPU: the reference of large problems, and the plain loop nest,
// whose time tuned kernels are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/kernel.h"
#include "core/status.h"
#include "tuner/measure/compilers.h"
#include "tuner/measure/problem.h"

namespace mdh {

// Of one problem; refers to compilers and supervisor. Not thread-safe.
class LoopNest {
 public:
  LoopNest(int threads, Compilers& compilers, Supervisor& supervisor)
      : threads_(threads), compilers_(&compilers), supervisor_(&supervisor) {}

  // What it computes, sooner than it does. Errors: Cancelled; Internal if that kernel does not
  // compile or fails; what Compile says.
  Result<std::vector<std::vector<std::byte>>> Outputs(const Problem& problem);
  // In nanoseconds, best of up to three calls on one thread. Kept. Errors: as Outputs.
  Result<int64_t> Time(const Problem& problem);

 private:
  Result<RunRecord> Run(const Problem& problem, const Kernel& kernel, int threads,
                        const MeasureOptions& options);

  int threads_;
  Compilers* compilers_;
  Supervisor* supervisor_;
  int64_t best_ns_ = 0;  // 0: not measured yet
};

}  // namespace mdh
