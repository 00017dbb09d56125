#include "client/wait_for_job.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace mdh {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

constexpr Nanoseconds kFirstPause = std::chrono::milliseconds(20);
constexpr Nanoseconds kLongestPause = std::chrono::seconds(1);

bool HasEnded(v1::TuningJobState state) {
  return state == v1::TUNING_JOB_STATE_SUCCEEDED || state == v1::TUNING_JOB_STATE_FAILED ||
         state == v1::TUNING_JOB_STATE_CANCELLED;
}

}  // namespace

bool IsOfConnection(const Status& error) {
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error) || absl::IsCancelled(error);
}

Result<v1::GetTuningJobResponse> WaitForJob(Client& client, const std::string& name,
                                            const WaitOptions& options,
                                            const Client::OnProgress& on_progress) {
  const Clock::time_point start = Clock::now();
  Clock::time_point last_heard = start;
  Nanoseconds pause = kFirstPause;
  int64_t sequence = 0;
  bool is_silent = false;
  const auto on_step = [&](const v1::TuningProgress& progress) {
    last_heard = Clock::now();
    pause = kFirstPause;
    sequence = progress.sequence();
    if (on_progress) on_progress(progress);
  };
  while (true) {
    Nanoseconds stream_limit(options.stream_limit_ns);
    if (options.limit_ns > 0) {
      stream_limit =
          std::min<Nanoseconds>(stream_limit, start + Nanoseconds(options.limit_ns) - Clock::now());
    }
    if (stream_limit <= Nanoseconds::zero()) return DeadlineExceeded(name, " has not ended yet");
    Status error = client.Watch(name, sequence, on_step, stream_limit.count());
    if (!error.ok() && !IsOfConnection(error)) return error;
    Result<v1::GetTuningJobResponse> job = client.GetJob(name);
    if (job.ok() && HasEnded(job->job().state())) return job;
    if (!job.ok() && !IsOfConnection(job.status())) return job.status();
    if (job.ok()) {
      last_heard = Clock::now();
      is_silent = false;
    } else if (!is_silent && options.on_silence) {
      is_silent = true;
      options.on_silence();
    } else if (Clock::now() - last_heard > Nanoseconds(options.max_silence_ns)) {
      return job.status();
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

Status ErrorOf(const v1::TuningJob& job) {
  if (job.state() == v1::TUNING_JOB_STATE_CANCELLED) return Cancelled(job.name(), " was cancelled");
  if (!job.has_error()) return absl::OkStatus();
  return Status(static_cast<absl::StatusCode>(job.error().code()), job.error().message());
}

}  // namespace mdh
