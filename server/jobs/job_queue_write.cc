// How changes of jobs come to the disk: before anybody sees them, and not under the queue's lock.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/jobs/job_queue.h"
#include "server/records/timestamp.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Between two times that the progress of a job is stored, and after one that could not be.
constexpr int64_t kBetweenProgress = 1'000'000'000, kAfterFailure = 10'000'000'000;

}  // namespace

void JobQueue::AwaitWritten(const Job& job) {
  const auto is_written = [&] { return !job.is_being_written; };
  mutex_.Await(absl::Condition(&is_written));
}

v1::TuningJob JobQueue::ToStore(v1::TuningJob proto, StopReason reason) const {
  if (reason == StopReason::kCancel) {
    proto.set_state(v1::TUNING_JOB_STATE_CANCELLED);
    *proto.mutable_end_time() = ToProto(options_.now());
  } else if (reason == StopReason::kPause) {
    proto.set_state(v1::TUNING_JOB_STATE_PAUSED);
  }
  proto.mutable_progress()->set_state(proto.state());
  return proto;
}

Status JobQueue::Write(Job& job, const v1::TuningJob& proto) {
  job.is_being_written = true;
  const JobWish heard = job.heard;
  mutex_.Unlock();
  Status written = store_.UpdateJob(job.claim, proto, heard, TwinIdOf(proto));
  mutex_.Lock();
  job.is_being_written = false;
  if (written.ok()) job.heard = JobWish::kNone;
  if (const std::shared_ptr<Job> own = Find(job.number);
      absl::IsAborted(written) && own.get() == &job) {
    Lose(own);
  }
  has_news_ = true;  // it may begin only now
  if (written.ok()) unsaved_.erase(job.number);
  return written;
}

void JobQueue::StoreProgress(Job& job) {
  const bool changes_soon = job.is_being_written || job.is_lost ||
                            job.stop_reason != StopReason::kNone || unsaved_.contains(job.number);
  if (changes_soon || NowNs() < job.next_progress_ns) return;
  const v1::TuningJob proto = job.proto;
  job.is_being_written = true;
  mutex_.Unlock();
  // What was heard is still wanted: that is not what this is about.
  const Status stored = store_.UpdateJob(job.claim, proto);
  mutex_.Lock();
  job.is_being_written = false;
  job.next_progress_ns = NowNs() + (stored.ok() ? kBetweenProgress : kAfterFailure);
}

Status JobQueue::ChangeIfWritten(const std::shared_ptr<Job>& job, const Change& change) {
  v1::TuningJob changed = job->proto;
  change(changed);
  changed.mutable_progress()->set_sequence(job->proto.progress().sequence() + 1);
  MDH_RETURN_IF_ERROR(Write(*job, ToStore(std::move(changed), job->stop_reason)));
  Apply(*job, change);
  return absl::OkStatus();
}

void JobQueue::ChangeAnyway(const std::shared_ptr<Job>& job, const Change& change) {
  const Status written = ChangeIfWritten(job, change);
  if (written.ok() || job->is_lost) return;
  spdlog::error("job={} {}; it is written later", job->number, std::string(written.message()));
  Apply(*job, change);
  unsaved_[job->number] = job;
}

void JobQueue::Apply(Job& job, const Change& change) {
  // There may have been progress while it was written.
  change(job.proto);
  v1::TuningProgress step = job.proto.progress();
  Publish(job, std::move(step));
}

Status JobQueue::SaveUnsaved() {
  Status status = unsaved_work_.Save(store_);
  absl::MutexLock lock(&mutex_);
  // What is added meanwhile is written the next time.
  const std::map<int64_t, std::shared_ptr<Job>> jobs = unsaved_;
  for (const auto& [number, job] : jobs) {
    AwaitWritten(*job);
    if (!unsaved_.contains(number)) continue;
    const Status written = Write(*job, ToStore(job->proto, job->stop_reason));
    if (written.ok()) spdlog::info("job={} is written now", number);
    // One that was deleted meanwhile, or is another's, has nothing to be written to.
    if (written.ok() || absl::IsNotFound(written) || job->is_lost) {
      unsaved_.erase(number);
      continue;
    }
    status.Update(written);
    break;
  }
  return status;
}

}  // namespace mdh
