// mdh trials: the journal of a job.
#include <memory>
#include <string>
#include <vector>

#include "client/commands/call/command.h"
#include "client/commands/call/job_name.h"
#include "client/commands/format/job_format.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

Status ListTrials(const GlobalOptions& options, const std::string& job, int limit) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  MDH_ASSIGN_OR_RETURN(const v1::ListTuningTrialsResponse all,
                       ListUpTo(limit, &v1::ListTuningTrialsResponse::mutable_trials,
                                [&](int size, const std::string& token) {
                                  return client->ListTuningTrials(JobNameFromArgument(job), size,
                                                                  token);
                                }));
  Show(options, all, [](const v1::ListTuningTrialsResponse& response) {
    const TrialDevices devices = ShownDevices(response);
    std::vector<std::vector<std::string>> rows;
    for (const v1::TuningTrial& trial : response.trials()) rows.push_back(TrialRow(trial, devices));
    PrintTable(TrialTable(devices), rows);
  });
  return absl::OkStatus();
}

}  // namespace

void AddTrialsCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto limit = std::make_shared<int>(100);
  AddCommandOn(
      app, selected, "trials", "list the trials of a job, the oldest first", "JOB",
      "number or name",
      [&options, limit](const std::string& job) { return ListTrials(options, job, *limit); })
      ->add_option("--limit", *limit, "most trials to list")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

}  // namespace mdh
