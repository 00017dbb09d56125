// mdh trials: the journal of a job.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands/call/command.h"
#include "client/commands/call/job_name.h"
#include "client/text/formatting.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

const std::vector<TextColumn>& TrialTable() {
  static const auto* table =
      new std::vector<TextColumn>{{.heading = "TRIAL", .is_number = true},
                                  {.heading = "OUTCOME"},
                                  {.heading = "TIME", .is_number = true},
                                  {.heading = "PARAMETERS", .least = 16, .dispensable = 1},
                                  {.heading = "REASON", .least = 16, .dispensable = 2}};
  return *table;
}

std::vector<std::string> TrialRow(const v1::TuningTrial& trial) {
  return {absl::StrCat(trial.number()), trial.outcome().empty() ? "not ended" : trial.outcome(),
          trial.time_ns() > 0 ? FormatTime(trial.time_ns()) : "-", trial.parameters(),
          trial.reason().substr(0, trial.reason().find('\n'))};
}

ExitCode ListTrials(const GlobalOptions& options, const std::string& job, int limit) {
  const Result<std::unique_ptr<Client>> client = Client::Connect(options.server, options.client);
  if (!client.ok()) return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
  v1::ListTuningTrialsResponse all;
  do {
    Result<v1::ListTuningTrialsResponse> page = (*client)->ListTuningTrials(
        JobNameFromArgument(job), limit - all.trials_size(), all.next_page_token());
    if (!page.ok()) return Fail(page.status());
    all.mutable_trials()->MergeFrom(page->trials());
    all.set_next_page_token(page->next_page_token());
  } while (!all.next_page_token().empty() && all.trials_size() < limit);
  if (options.json) {
    PrintJson(all);
    return ExitCode::kOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const v1::TuningTrial& trial : all.trials()) rows.push_back(TrialRow(trial));
  PrintTable(TrialTable(), rows);
  return ExitCode::kOk;
}

}  // namespace

void AddTrialsCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  auto job = std::make_shared<std::string>();
  auto limit = std::make_shared<int>(100);
  CLI::App* trials = app.add_subcommand("trials", "list the trials of a job, the oldest first");
  trials->add_option("JOB", *job, "number or name")->required();
  trials->add_option("--limit", *limit, "most trials to list")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  trials->callback([&options, &selected, job, limit] {
    selected = [&options, job, limit] { return ListTrials(options, *job, *limit); };
  });
}

}  // namespace mdh
