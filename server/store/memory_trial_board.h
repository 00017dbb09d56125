// The board of trials of a database that one process has: it is in memory.
#pragma once

#include <functional>
#include <memory>

#include "server/store/store.h"
#include "server/store/trial_board.h"

namespace mdh {

// `check`: whether the claim of a job holds, and the job has not ended. Errors of it: Aborted;
// those of Store. It is not called under a lock.
std::unique_ptr<TrialBoard> MakeMemoryTrialBoard(std::function<Status(const JobClaim&)> check);

}  // namespace mdh
