// Waits for the end of a tuning job, through restarts of the daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "client/client.h"
#include "core/base/status.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {

struct WaitOptions {
  int64_t limit_ns = 0;  // 0: as long as it takes
  // How long the daemon may be away, or not answer. Jobs go on with the next daemon.
  int64_t max_silence_ns = 30'000'000'000;
  // One stream of progress; it is then begun anew, after a look whether the daemon still answers.
  int64_t stream_limit_ns = 30'000'000'000;
  // Called from the waiting thread when the daemon begins not to answer; empty: nobody is told.
  std::function<void()> on_silence = {};
};

// Follows the job; `on_progress` is called from this thread, once for every step. Gives the job as
// it ended, and its record if it has one. Errors: NotFound; DeadlineExceeded after limit_ns; the
// last error of the connection after max_silence_ns.
Result<v1::GetTuningJobResponse> WaitForJob(Client& client, const std::string& name,
                                            const WaitOptions& options = {},
                                            const Client::OnProgress& on_progress = {});

// Whether an error can be over when one asks again: a daemon that stops cancels its streams.
bool IsOfConnection(const Status& error);

// Why an ended job has no result: Cancelled, or what it failed with; OK if it has succeeded.
Status ErrorOf(const v1::TuningJob& job);

}  // namespace mdh
