// Jobs in child processes: one that crashes or hangs is reported, and the others go on.
#pragma once

#include <functional>
#include <string>

#include "core/base/status.h"

namespace mdh {

struct PoolOptions {
  int first = 0;  // number of the first job
  int count = 0;
  int processes = 1;     // 0: the calling process itself does all jobs
  int patience_s = 300;  // a job without an answer for so long is ended and reported
  // Asked about once a second, and when a signal has come: whether no more is begun and what runs
  // is given up, without a report. Null: never.
  std::function<bool()> is_over = nullptr;
};

// Does job number `job` and says what came of it.
using Job = std::function<std::string(int job)>;
// Called once in every child: whatever the jobs of a process share.
using MakeJob = std::function<Job()>;

struct JobEnd {
  int job;
  bool has_answer;   // false: the process ended or was ended
  std::string text;  // the answer, or how the process ended
};

// Runs all jobs and calls `on_end` for each, in the order in which they end. The calling process
// must have a single thread. Errors: ResourceExhausted if no process can be started.
Status RunInWorkers(const PoolOptions& options, const MakeJob& make_job,
                    const std::function<void(const JobEnd&)>& on_end);

}  // namespace mdh
