// mdh jobs, mdh cancel, mdh pause, mdh resume.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/commands/call/command.h"
#include "client/commands/call/device_argument.h"
#include "client/commands/call/job_name.h"
#include "client/commands/format/job_format.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

void PrintJobs(const std::vector<v1::TuningJob>& jobs) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::TuningJob& job : jobs) rows.push_back(JobRow(job));
  PrintTable(JobTable(), rows);
  for (const v1::TuningJob& job : jobs) {
    if (!job.has_error()) continue;
    PrintWrapped(Printable(absl::StrCat(JobNumber(job), ": ", job.error().message())) + "\n", 4);
  }
}

// "running": the state of that name. Errors: InvalidArgument, naming those there are.
Result<v1::TuningJobState> ParseState(const std::string& name) {
  std::vector<std::string> names;
  for (int state = 1; state <= v1::TuningJobState_MAX; ++state) {
    if (!v1::TuningJobState_IsValid(state)) continue;
    names.push_back(JobStateName(static_cast<v1::TuningJobState>(state)));
    if (names.back() == name) return static_cast<v1::TuningJobState>(state);
  }
  return InvalidArgument("there is no state '", name, "'; there are ", absl::StrJoin(names, ", "));
}

Status ListJobs(const GlobalOptions& options, v1::ListTuningJobsRequest request, int limit) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  MDH_ASSIGN_OR_RETURN(const v1::ListTuningJobsResponse all,
                       ListUpTo(limit, &v1::ListTuningJobsResponse::mutable_jobs,
                                [&](int size, const std::string& token) {
                                  request.set_page_size(size);
                                  request.set_page_token(token);
                                  return client->ListJobs(request);
                                }));
  Show(options, all, [](const v1::ListTuningJobsResponse& response) {
    PrintJobs({response.jobs().begin(), response.jobs().end()});
  });
  return absl::OkStatus();
}

// A command on one job.
void AddJobCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected,
                   const std::string& name, const std::string& what,
                   Result<v1::TuningJob> (Client::*call)(const std::string&)) {
  AddCommandOn(app, selected, name, what, "JOB", "number or name",
               [&options, call](const std::string& argument) -> Status {
                 MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                                      ConnectTo<Client>(options));
                 MDH_ASSIGN_OR_RETURN(const v1::TuningJob job,
                                      ((*client).*call)(JobNameFromArgument(argument)));
                 Show(options, job, [](const v1::TuningJob& now) { PrintJobs({now}); });
                 return absl::OkStatus();
               });
}

void AddFilters(CLI::App& jobs, const std::shared_ptr<v1::ListTuningJobsRequest>& request) {
  jobs.add_option_function<std::vector<std::string>>(
      "--state",
      [request](const std::vector<std::string>& names) {
        for (const std::string& name : names) {
          const Result<v1::TuningJobState> state = ParseState(name);
          if (!state.ok()) {
            throw CLI::ValidationError("--state", std::string(state.status().message()));
          }
          request->add_states(*state);
        }
      },
      "only in this state: queued, running, paused, ...; may be given several times");
  jobs.add_option_function<std::string>(
      "--expression", [request](const std::string& name) { request->set_expression(name); },
      "only of expressions with this name or digest");
  jobs.add_option_function<std::string>(
      "--device",
      [request](const std::string& name) { request->set_device(DeviceNameFromArgument(name)); },
      "only those that may run on this device");
  jobs.add_option_function<std::string>(
      "--source", [request](const std::string& name) { request->set_source(name); },
      "only of this source");
}

}  // namespace

void AddJobCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto limit = std::make_shared<int>(20);
  auto request = std::make_shared<v1::ListTuningJobsRequest>();
  CLI::App* jobs = app.add_subcommand("jobs", "list jobs, the newest first");
  jobs->add_option("--limit", *limit, "most jobs to list")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  AddFilters(*jobs, request);
  Select(jobs, selected,
         [&options, limit, request] { return ListJobs(options, *request, *limit); });
  AddJobCommand(app, options, selected, "cancel", "cancel a job; the best so far is kept",
                &Client::Cancel);
  AddJobCommand(app, options, selected, "pause", "let a job wait until it is resumed",
                &Client::Pause);
  AddJobCommand(app, options, selected, "resume", "let a paused job go on", &Client::Resume);
}

}  // namespace mdh
