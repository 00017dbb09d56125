#include "client/commands/pipeline_tuning.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/commands/call/cancel_on_interrupt.h"
#include "client/commands/format/explain_pipeline.h"
#include "client/commands/format/progress_display.h"
#include "client/commands/format/record_format.h"
#include "client/text/formatting.h"
#include "client/text/terminal.h"
#include "client/text/text_table.h"
#include "client/wait_for_job.h"

namespace mdh {
namespace {

// How the jobs of a pipeline have ended.
struct Ends {
  std::vector<v1::GetTuningJobResponse> steps;
  std::optional<v1::GetTuningJobResponse> whole;
};

// Errors: as those of WaitForJob.
Result<v1::GetTuningJobResponse> Await(Client& client, const std::string& what,
                                       const v1::PipelineStepJob& created) {
  const std::string& job = created.job().name();
  ProgressDisplay display(CanRewriteLines(STDERR_FILENO));
  display.ShowLine(
      absl::StrCat(what, ": ", job, created.note().empty() ? "" : "; ", created.note()));
  display.Finish();
  WaitOptions wait;
  wait.on_silence = [&] {
    display.ShowLine(absl::StrCat("the daemon does not answer; ", job, " goes on with the next"));
  };
  Result<v1::GetTuningJobResponse> ended = WaitForJob(
      client, job, wait, [&](const v1::TuningProgress& progress) { display.Show(progress); });
  display.Finish();
  return ended;
}

Result<Ends> AwaitAll(Client& client, const v1::CreateTuningJobResponse& created) {
  Ends ends;
  for (const v1::PipelineStepJob& step : created.step_jobs()) {
    const std::string what =
        absl::StrCat("step ", ends.steps.size() + 1, " of ", created.step_jobs_size(), ", ",
                     step.job().expression_name());
    MDH_ASSIGN_OR_RETURN(ends.steps.emplace_back(), Await(client, what, step));
  }
  // Daemons of earlier versions measure no whole kernels.
  if (created.has_whole_job()) {
    MDH_ASSIGN_OR_RETURN(ends.whole, Await(client, "whole kernels", created.whole_job()));
  }
  return ends;
}

void PrintSteps(const v1::CreateTuningJobResponse& created,
                const std::vector<v1::GetTuningJobResponse>& ends) {
  std::vector<std::vector<std::string>> rows;
  for (size_t s = 0; s < ends.size(); ++s) {
    std::string partitions;
    for (const int number : created.step_jobs(static_cast<int>(s)).partitions()) {
      absl::StrAppend(&partitions, partitions.empty() ? "" : "; ",
                      created.partitions(number).text());
    }
    const v1::TuningJob& job = ends[s].job();
    rows.push_back(
        {job.expression_name(), std::string(absl::StripPrefix(job.name(), "tuningJobs/")),
         ends[s].has_record() ? FormatTime(ends[s].record().time_ns()) : "no result", partitions});
  }
  PrintTable({{.heading = "STEP", .least = 12},
              {.heading = "JOB", .is_number = true},
              {.heading = "TIME", .is_number = true},
              {.heading = "OF", .least = 12}},
             rows);
}

// Kernels that were measured in turns.
void PrintTurns(const v1::PipelineTurns& turns) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::PipelineTurn& turn : turns.kernels()) {
    rows.push_back(
        {turn.partition(),
         turn.time_ns() > 0 ? FormatTime(turn.time_ns()) : absl::StrCat("failed: ", turn.outcome()),
         turn.steps_time_ns() > 0 ? FormatTime(turn.steps_time_ns()) : "not measured",
         turn.is_disturbed() ? "disturbed" : ""});
  }
  PrintTable({{.heading = "WHOLE KERNEL", .least = 12},
              {.heading = "TIME", .is_number = true},
              {.heading = "SUM OF STEPS", .is_number = true},
              {.heading = ""}},
             rows);
}

// Why the first of them that has none has no result. With a whole kernel all is well: a step that
// has no record is computed in it as rules say.
Status ErrorOfJobs(const Ends& ends) {
  if (ends.whole && ends.whole->has_record()) return ErrorOf(ends.whole->job());
  std::vector<v1::GetTuningJobResponse> all = ends.steps;
  if (ends.whole) all.push_back(*ends.whole);
  for (const v1::GetTuningJobResponse& end : all) {
    const Status error = ErrorOf(end.job());
    if (error.ok()) continue;
    return Status(error.code(), absl::StrCat(end.job().name(), ", ", end.job().expression_name(),
                                             ": ", error.message()));
  }
  return absl::OkStatus();
}

void PrintPipelineJson(const v1::CreateTuningJobResponse& created, const Ends& ends,
                       const Result<v1::GetKernelResponse>& best) {
  using Json = nlohmann::ordered_json;
  Json json = {{"note", created.note()}, {"steps", Json::array()}};
  for (size_t s = 0; s < ends.steps.size(); ++s) {
    Json step = Json::parse(ToJson(ends.steps[s]));
    for (const int number : created.step_jobs(static_cast<int>(s)).partitions()) {
      step["partitions"].push_back(created.partitions(number).text());
    }
    json["steps"].push_back(std::move(step));
  }
  if (ends.whole) json["whole"] = Json::parse(ToJson(*ends.whole));
  if (best.ok()) json["pipeline"] = Json::parse(ToJson(best->pipeline()));
  std::printf("%s\n", json.dump(2).c_str());
}

// A job for every step, with the same share of the budget.
Result<v1::CreateTuningJobResponse> CreateStepJobs(Client& client, const TuneOptions& tuning,
                                                   const std::vector<ScheduledStep>& steps) {
  TuneOptions of_step = tuning;
  const auto count = static_cast<int64_t>(steps.size());
  if (tuning.budget_ns > 0) of_step.budget_ns = std::max<int64_t>(1, tuning.budget_ns / count);
  v1::CreateTuningJobResponse created;
  for (const ScheduledStep& step : steps) {
    of_step.schedule = step.schedule;
    if (!tuning.request_id.empty()) {
      of_step.request_id = absl::StrCat(tuning.request_id, "/", created.step_jobs_size());
    }
    MDH_ASSIGN_OR_RETURN(v1::CreateTuningJobResponse one,
                         client.CreateJob(step.expression, of_step));
    v1::PipelineStepJob* const job = created.add_step_jobs();
    job->mutable_job()->Swap(one.mutable_job());
    job->set_joined(one.joined());
    job->set_note(one.note());
  }
  return created;
}

}  // namespace

Status WaitForPipeline(const GlobalOptions& options, Client& client, const PipelineTuning& tuning) {
  Result<Ends> ends = Ends();
  {
    const CancelOnInterrupt cancel([&] {
      const v1::PipelineStepJob& whole = tuning.created.whole_job();
      if (tuning.created.has_whole_job() && !whole.joined())
        (void)client.Cancel(whole.job().name());
      for (const v1::PipelineStepJob& step : tuning.created.step_jobs()) {
        if (!step.joined()) (void)client.Cancel(step.job().name());
      }
    });
    ends = AwaitAll(client, tuning.created);
  }
  if (!ends.ok()) {
    return IsOfConnection(ends.status()) ? WithExitCode(ExitCode::kCannotConnect, ends.status())
                                         : ends.status();
  }
  v1::DeviceSelection device;
  // Under a schedule that says everything no step is searched.
  const v1::TuningJob& any = ends->steps.empty() ? ends->whole->job() : ends->steps.front().job();
  device.set_name(any.devices(0));
  const Result<v1::GetKernelResponse> best =
      client.GetBestKernel(tuning.pipeline, device, v1::MATCH_KIND_EXACT,
                           tuning.options.numerics_policy, tuning.options.schedule);
  if (options.json) {
    PrintPipelineJson(tuning.created, *ends, best);
  } else {
    if (!ends->steps.empty()) PrintSteps(tuning.created, ends->steps);
    if (ends->whole && ends->whole->has_record()) PrintTurns(ends->whole->record().pipeline());
    // Of an expression that is fastest as it stands there is nothing more to say.
    if (best.ok() && best->has_pipeline()) {
      std::printf("%s", FormatPipelineKernel(tuning.pipeline.name(), best->pipeline()).c_str());
    }
    if (best.ok() && !tuning.kernel_command.empty()) {
      std::printf(
          "%s",
          FormatNextCommands({tuning.kernel_command}, ColumnsOfOutput(STDOUT_FILENO)).c_str());
    }
  }
  if (const Status error = ErrorOfJobs(*ends); !error.ok()) {
    return absl::IsCancelled(error) ? error : WithExitCode(ExitCode::kServerError, error);
  }
  return best.status();
}

Status TuneSteps(const GlobalOptions& options, Client& client, const TuneOptions& tuning,
                 const std::vector<ScheduledStep>& steps, JobsAre jobs) {
  MDH_ASSIGN_OR_RETURN(const v1::CreateTuningJobResponse created,
                       CreateStepJobs(client, tuning, steps));
  if (tuning.validate_only || jobs == JobsAre::kLeftAlone) {
    Show(options, created, [&](const v1::CreateTuningJobResponse& response) {
      if (tuning.validate_only) {
        std::printf("the daemon would take it\n");
        return;
      }
      for (const std::string& job : JobsOf(response)) std::printf("%s\n", job.c_str());
    });
    return absl::OkStatus();
  }
  Result<Ends> ends = Ends();
  {
    const CancelOnInterrupt cancel([&] {
      for (const v1::PipelineStepJob& step : created.step_jobs()) {
        if (!step.joined()) (void)client.Cancel(step.job().name());
      }
    });
    ends = AwaitAll(client, created);
  }
  if (!ends.ok()) {
    return IsOfConnection(ends.status()) ? WithExitCode(ExitCode::kCannotConnect, ends.status())
                                         : ends.status();
  }
  if (options.json) {
    PrintPipelineJson(created, *ends, NotFound("steps were tuned by themselves"));
  } else {
    PrintSteps(created, ends->steps);
    int64_t all_ns = 0;
    for (const v1::GetTuningJobResponse& end : ends->steps) all_ns += end.record().time_ns();
    std::printf("all steps, one after the other: %s\n", FormatTime(all_ns).c_str());
  }
  if (const Status error = ErrorOfJobs(*ends); !error.ok()) {
    return absl::IsCancelled(error) ? error : WithExitCode(ExitCode::kServerError, error);
  }
  return absl::OkStatus();
}

}  // namespace mdh
