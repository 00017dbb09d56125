// The plain loop nest on this machine's CPU: reference of large problems, and the figure that tuned
// kernels are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/status.h"
#include "tuner/measure/compilers.h"
#include "tuner/measure/problem.h"

namespace mdh {

// Of one problem; refers to compilers and supervisor. Not thread-safe.
class LoopNest {
 public:
  LoopNest(Compilers& compilers, Supervisor& supervisor)
      : compilers_(&compilers), supervisor_(&supervisor) {}

  // What it computes. Errors: Cancelled; Internal if it does not compile or fails; what Compile
  // says.
  Result<std::vector<std::vector<std::byte>>> Outputs(const Problem& problem);
  // Best of up to three calls on one thread. Kept. Errors: as Outputs.
  Result<int64_t> Time(const Problem& problem);

 private:
  Result<RunRecord> Run(const Problem& problem, const MeasureOptions& options);

  Compilers* compilers_;
  Supervisor* supervisor_;
  int64_t first_ns_ = 0;  // one call, 0: not called yet
  int64_t best_ns_ = 0;   // best of several, 0: not measured yet
};

}  // namespace mdh
