// The job of a pipeline that measures whole kernels, behind those of its steps.
#include <algorithm>
#include <iterator>
#include <utility>

#include "server/jobs/job_queue.h"
#include "server/records/resource_names.h"
#include "server/records/timestamp.h"

namespace mdh {
namespace {

// From its begin to its end; 0 if it has not had both.
int64_t TimeOfRun(const v1::TuningJob& job) {
  if (!job.has_start_time() || !job.has_end_time()) return 0;
  return absl::ToInt64Nanoseconds(FromProto(job.end_time()) - FromProto(job.start_time()));
}

}  // namespace

std::vector<v1::TuningJob> JobQueue::AwaitedOf(const v1::TuningJob& job) {
  std::vector<v1::TuningJob> jobs;
  for (const std::string& name : job.awaited_jobs()) {
    const Result<int64_t> number = ParseJobName(name);
    Result<v1::TuningJob> other = number.ok() ? Get(*number) : number.status();
    if (other.ok()) jobs.push_back(*std::move(other));
  }
  return jobs;
}

Result<v1::TuningRecord> JobQueue::MeasureWhole(Job& job, const Pipeline& pipeline) {
  v1::TuningJob proto;
  {
    absl::MutexLock lock(&mutex_);
    proto = job.proto;
    job.told_extensions = job.extensions;
  }
  const std::vector<v1::TuningJob> steps = AwaitedOf(proto);
  const auto was_cancelled = [](const v1::TuningJob& step) {
    return step.state() == v1::TUNING_JOB_STATE_CANCELLED;
  };
  if (!steps.empty() && std::ssize(steps) == proto.awaited_jobs_size() &&
      std::all_of(steps.begin(), steps.end(), was_cancelled)) {
    return absl::CancelledError("the jobs of its steps were cancelled");
  }
  int64_t steps_ns = 0;
  for (const v1::TuningJob& step : steps) steps_ns += TimeOfRun(step);
  const PipelineSearch search = {.pipeline = pipeline,
                                 .options = proto.options(),
                                 .steps_ns = steps_ns,
                                 .key = proto.key(),
                                 .lease = *LeasesOf(job).front(),
                                 .on_step = [&](const SearchStep& step) { PublishStep(job, step); },
                                 .cancelled = job.is_stopping};
  MDH_ASSIGN_OR_RETURN(
      v1::TuningRecord record,
      MeasureAndStore(search, {store_, lookup_table_, catalogue_, unsaved_work_, options_.tune,
                               options_.measure_in_turns, options_.now, options_.metrics}));
  absl::MutexLock lock(&mutex_);
  v1::TuningProgress step = job.proto.progress();
  step.set_trials(record.trials());
  step.set_failed_trials(record.failed_trials());
  Publish(job, std::move(step));
  return record;
}

}  // namespace mdh
