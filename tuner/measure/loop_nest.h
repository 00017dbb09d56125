// Untuned kernels on this machine's CPU: the reference of large problems, and the plain loop nest,
// whose time tuned kernels are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "tuner/measure/compile/compilers.h"
#include "tuner/measure/problem.h"

namespace mdh {

// Of one problem; refers to compilers and supervisor. Not thread-safe.
class LoopNest {
 public:
  LoopNest(int threads, Compilers& compilers, Supervisor& supervisor)
      : threads_(threads), compilers_(&compilers), supervisor_(&supervisor) {}

  // What it computes, sooner than it does. `run_limit_ns`: of that kernel's call; 0: none. Errors:
  // Cancelled; DeadlineExceeded after that limit; Internal if that kernel does not compile or
  // fails; what Compile says.
  Result<std::vector<std::vector<std::byte>>> Outputs(const Problem& problem, int64_t run_limit_ns);
  // In nanoseconds, best of up to three calls on one thread. Kept. Errors: as Outputs.
  Result<int64_t> Time(const Problem& problem, int64_t run_limit_ns);

 private:
  Result<RunRecord> Run(const Problem& problem, const Kernel& kernel, int threads,
                        const MeasureOptions& options);

  int threads_;
  Compilers* compilers_;
  Supervisor* supervisor_;
  int64_t best_ns_ = 0;  // 0: not measured yet
};

// The same within a small part of `time_limit_ns` (0: however long it takes); 0 if it takes longer,
// or would, as far as one can say from the reference.
Result<int64_t> TimeOf(LoopNest& nest, const Problem& problem, int64_t time_limit_ns);

}  // namespace mdh
