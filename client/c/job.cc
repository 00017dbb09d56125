// mdh_job_...: tuning.
#include <utility>

#include "client/c/boundary.h"
#include "client/c/handles.h"
#include "client/wait_for_job.h"

namespace mdh {
namespace {

static_assert(static_cast<int>(MDH_CACHES_COLD) == v1::CACHE_STATE_COLD);
static_assert(static_cast<int>(MDH_PHASE_FINALS) == v1::TUNING_PHASE_FINALS);

TuneOptions ToTuneOptions(const mdh_tune_options& from, const mdh_query& query) {
  TuneOptions options;
  options.budget_ns = from.budget_ns;
  options.max_trials = from.max_trials;
  options.seed = from.seed;
  options.technique = TextOr(from.technique, "");
  options.numerics_policy = query.numerics;
  options.tolerance = from.tolerance;
  options.cache_state = static_cast<v1::CacheState>(from.caches);
  options.force = from.force != 0;
  options.priority = from.priority;
  if (query.device.has_name()) options.devices = {query.device.name()};
  return options;
}

mdh_progress ToC(const v1::TuningJob& job) {
  const v1::TuningProgress& progress = job.progress();
  return {static_cast<mdh_job_state>(job.state()),
          progress.trials(),
          progress.failed_trials(),
          progress.best_time_ns(),
          progress.elapsed_ns(),
          progress.remaining_ns(),
          progress.queue_position()};
}

}  // namespace
}  // namespace mdh

extern "C" {

mdh_code mdh_job_start(mdh_client* client, const mdh_query* query, const mdh_tune_options* options,
                       mdh_job** job, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh_tune_options read, mdh::ReadOptions(options));
    MDH_ASSIGN_OR_RETURN(
        const mdh::v1::CreateTuningJobResponse created,
        client->client->CreateJob(query->computation, mdh::ToTuneOptions(read, *query)));
    const bool is_pipeline = created.has_whole_job();
    std::vector<std::string> begun;
    for (const mdh::v1::PipelineStepJob& step : created.step_jobs()) {
      if (!step.joined()) begun.push_back(step.job().name());
    }
    *job = new mdh_job{client, (is_pipeline ? created.whole_job().job() : created.job()).name(),
                       created.note(), std::move(begun)};
    return absl::OkStatus();
  });
}

mdh_code mdh_job_open(mdh_client* client, const char* name, mdh_job** job, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_RETURN_IF_ERROR(client->client->GetJob(name).status());
    *job = new mdh_job{client, name};
    return absl::OkStatus();
  });
}

void mdh_job_free(mdh_job* job) { delete job; }

const char* mdh_job_name(const mdh_job* job) { return job->name.c_str(); }

const char* mdh_job_note(const mdh_job* job) { return job->note.c_str(); }

mdh_code mdh_job_phase(const mdh_job* job, mdh_phase* phase, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh::v1::GetTuningJobResponse now,
                         job->client->client->GetJob(job->name));
    const int phase_now = now.job().progress().phase();
    const bool is_known = phase_now >= 0 && phase_now <= static_cast<int>(MDH_PHASE_FINALS);
    *phase = is_known ? static_cast<mdh_phase>(phase_now) : MDH_PHASE_NONE;
    return absl::OkStatus();
  });
}

mdh_code mdh_job_poll(const mdh_job* job, mdh_progress* progress, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(const mdh::v1::GetTuningJobResponse now,
                         job->client->client->GetJob(job->name));
    *progress = mdh::ToC(now.job());
    return absl::OkStatus();
  });
}

mdh_code mdh_job_wait(const mdh_job* job, int64_t limit_ns, mdh_progress* progress,
                      mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    MDH_ASSIGN_OR_RETURN(
        const mdh::v1::GetTuningJobResponse ended,
        mdh::WaitForJob(*job->client->client, job->name,
                        {.limit_ns = limit_ns, .max_silence_ns = job->client->call_limit_ns}));
    if (progress != nullptr) *progress = mdh::ToC(ended.job());
    return mdh::ErrorOf(ended.job());
  });
}

mdh_code mdh_job_cancel(const mdh_job* job, mdh_error** error) {
  return mdh::Guarded(error, [&]() -> mdh::Status {
    for (const std::string& step : job->begun) {
      MDH_RETURN_IF_ERROR(job->client->client->Cancel(step).status());
    }
    return job->client->client->Cancel(job->name).status();
  });
}

}  // extern "C"
