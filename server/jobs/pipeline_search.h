// The run of a job that measures whole kernels of a pipeline: from the records of the steps to the
// record of the pipeline.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/tuning.pb.h"
#include "server/devices/device_lease.h"
#include "server/jobs/job_search.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

// What of the budget of a pipeline's search is kept for the whole kernels, in nanoseconds.
constexpr int64_t LeastBudgetOfWhole(int64_t budget_ns) { return budget_ns / 2; }

// What they have when the searches for steps took so long: all that these have left. Searches may
// take more than they were given, which is taken off here, down to a half of what is kept.
constexpr int64_t BudgetOfWhole(int64_t budget_ns, int64_t steps_ns) {
  return std::max(LeastBudgetOfWhole(budget_ns) / 2, budget_ns - steps_ns);
}

struct PipelineSearch {
  const Pipeline& pipeline;
  const v1::TuningOptions& options;
  int64_t steps_ns;  // what the searches for its steps took
  const v1::KernelKey& key;
  DeviceLease& lease;
  std::function<void(const SearchStep&)> on_step = {};
  const std::atomic<bool>& cancelled;
};

// Measures the kernels that the best records of the steps on the device give (PipelineCandidates)
// and stores the fastest; records of the steps stay as they are. Steps without one are computed as
// rules say. Errors: what PipelineCandidates and MeasureInTurns say; Cancelled, and then nothing is
// stored; Unavailable if a compiler was replaced meanwhile.
Result<v1::TuningRecord> MeasureAndStore(const PipelineSearch& search, const SearchTools& tools);

}  // namespace mdh
