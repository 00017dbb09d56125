// mdh trials: the journal of a job.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/commands/call/command.h"
#include "client/commands/call/job_name.h"
#include "client/commands/format/job_format.h"
#include "client/text/formatting.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

// Which device it was is worth a column where several daemons took part.
bool HasHelp(const v1::ListTuningTrialsResponse& response) {
  return std::any_of(response.trials().begin(), response.trials().end(),
                     [](const auto& trial) { return absl::StartsWith(trial.device(), "nodes/"); });
}

std::vector<TextColumn> TrialTable(bool has_help) {
  std::vector<TextColumn> table = {{.heading = "TRIAL", .is_number = true},
                                   {.heading = "OUTCOME"},
                                   {.heading = "TIME", .is_number = true},
                                   {.heading = "PARAMETERS", .least = 16, .dispensable = 1},
                                   {.heading = "REASON", .least = 16, .dispensable = 2}};
  if (has_help) table.insert(table.begin() + 3, {.heading = "DEVICE", .least = 6});
  return table;
}

std::vector<std::string> TrialRow(const v1::TuningTrial& trial, bool has_help) {
  std::vector<std::string> row = {
      absl::StrCat(trial.number()), trial.outcome().empty() ? "not ended" : trial.outcome(),
      trial.time_ns() > 0 ? FormatTime(trial.time_ns()) : "-", trial.parameters(),
      trial.reason().substr(0, trial.reason().find('\n'))};
  const std::string device = trial.device().empty() ? "-" : ShortDeviceName(trial.device());
  if (has_help) row.insert(row.begin() + 3, device);
  return row;
}

Status ListTrials(const GlobalOptions& options, const std::string& job, int limit) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  MDH_ASSIGN_OR_RETURN(const v1::ListTuningTrialsResponse all,
                       ListUpTo(limit, &v1::ListTuningTrialsResponse::mutable_trials,
                                [&](int size, const std::string& token) {
                                  return client->ListTuningTrials(JobNameFromArgument(job), size,
                                                                  token);
                                }));
  Show(options, all, [](const v1::ListTuningTrialsResponse& response) {
    const bool has_help = HasHelp(response);
    std::vector<std::vector<std::string>> rows;
    for (const v1::TuningTrial& trial : response.trials()) {
      rows.push_back(TrialRow(trial, has_help));
    }
    PrintTable(TrialTable(has_help), rows);
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
