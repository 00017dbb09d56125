// mdh trials: the journal of a job.
#include <cstdio>
#include <memory>
#include <string>

#include "client/commands/command.h"
#include "client/commands/formatting.h"
#include "client/commands/job_name.h"

namespace mdh {
namespace {

void PrintTrial(const v1::TuningTrial& trial) {
  const std::string time = trial.time_ns() > 0 ? FormatTime(trial.time_ns()) : std::string("-");
  std::printf("%6lld  %-16s %-10s %s%s%s\n", static_cast<long long>(trial.number()),
              trial.outcome().empty() ? "not ended" : trial.outcome().c_str(), time.c_str(),
              trial.parameters().c_str(), trial.reason().empty() ? "" : "  ",
              trial.reason().substr(0, trial.reason().find('\n')).c_str());
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
  std::printf("%6s  %-16s %-10s %s\n", "TRIAL", "OUTCOME", "TIME", "PARAMETERS");
  for (const v1::TuningTrial& trial : all.trials()) PrintTrial(trial);
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
