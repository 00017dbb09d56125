// mdh jobs, mdh cancel.
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/commands/command.h"
#include "client/commands/formatting.h"
#include "client/commands/job_name.h"

namespace mdh {
namespace {

// "TUNING_JOB_STATE_RUNNING" -> "running".
std::string StateName(v1::TuningJobState state) {
  std::string name = v1::TuningJobState_Name(state).substr(sizeof("TUNING_JOB_STATE_") - 1);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// "cuda0,cuda1": what it runs on, or may run on.
std::string DeviceNames(const v1::TuningJob& job) {
  constexpr absl::string_view kDevices = "devices/";
  const auto& names = job.running_devices().empty() ? job.devices() : job.running_devices();
  return absl::StrJoin(names, ",", [&](std::string* out, const std::string& name) {
    absl::StrAppend(out, absl::StripPrefix(name, kDevices));
  });
}

void PrintJob(const v1::TuningJob& job) {
  const v1::TuningProgress& progress = job.progress();
  const std::string best =
      progress.best_time_ns() > 0 ? FormatTime(progress.best_time_ns()) : std::string("-");
  std::printf("%-16s %-10s %8lld  %-10s %s  %-12s %s%s%s\n", job.name().c_str(),
              StateName(job.state()).c_str(), static_cast<long long>(progress.trials()),
              best.c_str(),
              google::protobuf::util::TimeUtil::ToString(job.create_time()).substr(0, 19).c_str(),
              DeviceNames(job).c_str(), job.expression_name().c_str(), job.has_error() ? ": " : "",
              job.error().message().c_str());
}

// Up to `limit` jobs, over as many pages as that takes.
Result<v1::ListTuningJobsResponse> ListUpTo(Client& client, int limit) {
  v1::ListTuningJobsResponse all;
  do {
    MDH_ASSIGN_OR_RETURN(v1::ListTuningJobsResponse page,
                         client.ListJobs(limit - all.jobs_size(), all.next_page_token()));
    all.mutable_jobs()->MergeFrom(page.jobs());
    all.set_next_page_token(page.next_page_token());
  } while (!all.next_page_token().empty() && all.jobs_size() < limit);
  return all;
}

ExitCode ListJobs(const GlobalOptions& options, int limit) {
  const Result<std::unique_ptr<Client>> client = Client::Connect(options.server);
  if (!client.ok()) return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
  const Result<v1::ListTuningJobsResponse> jobs = ListUpTo(**client, limit);
  if (!jobs.ok()) return Fail(jobs.status());
  if (options.json) {
    PrintJson(*jobs);
    return ExitCode::kOk;
  }
  std::printf("%-16s %-10s %8s  %-10s %-19s  %-12s %s\n", "JOB", "STATE", "TRIALS", "BEST",
              "CREATED", "DEVICE", "EXPRESSION");
  for (const v1::TuningJob& job : jobs->jobs()) PrintJob(job);
  return ExitCode::kOk;
}

ExitCode CancelJob(const GlobalOptions& options, const std::string& argument) {
  const Result<std::unique_ptr<Client>> client = Client::Connect(options.server);
  if (!client.ok()) return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
  const Result<v1::TuningJob> job = (*client)->Cancel(JobNameFromArgument(argument));
  if (!job.ok()) return Fail(job.status());
  if (options.json) {
    PrintJson(*job);
  } else {
    PrintJob(*job);
  }
  return ExitCode::kOk;
}

}  // namespace

void AddJobCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto limit = std::make_shared<int>(20);
  CLI::App* jobs = app.add_subcommand("jobs", "list jobs, the newest first");
  jobs->add_option("--limit", *limit, "most jobs to list")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  jobs->callback([&options, &selected, limit] {
    selected = [&options, limit] { return ListJobs(options, *limit); };
  });

  auto job = std::make_shared<std::string>();
  CLI::App* cancel = app.add_subcommand("cancel", "cancel a job; the best so far is kept");
  cancel->add_option("JOB", *job, "number or name")->required();
  cancel->callback([&options, &selected, job] {
    selected = [&options, job] { return CancelJob(options, *job); };
  });
}

}  // namespace mdh
