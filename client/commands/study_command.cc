// mdh study: lists, shows, ends, removes and exports studies.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "client/commands/call/command.h"
#include "client/commands/format/study_format.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

constexpr int kPageSize = 1'000;

// "17" or "studies/17".
std::string StudyNameFromArgument(const std::string& argument) {
  return argument.find('/') == std::string::npos ? "studies/" + argument : argument;
}

void PrintText(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Status ListStudies(const GlobalOptions& options, int64_t limit) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
  MDH_ASSIGN_OR_RETURN(const v1::ListStudiesResponse all,
                       ListUpTo(limit, &v1::ListStudiesResponse::mutable_studies,
                                [&](int size, const std::string& token) {
                                  return client->ListStudies(size, token);
                                }));
  Show(options, all, [](const v1::ListStudiesResponse& response) {
    std::vector<std::vector<std::string>> rows;
    for (const v1::Study& study : response.studies()) rows.push_back(StudyRow(study));
    PrintTable(StudyTable(), rows);
  });
  return absl::OkStatus();
}

Status ShowStudy(const GlobalOptions& options, Client& client, const std::string& name) {
  MDH_ASSIGN_OR_RETURN(const v1::Study study, client.GetStudy(name));
  Show(options, study, [](const v1::Study& one) { PrintWrapped(FormatStudy(one), 15); });
  return absl::OkStatus();
}

Status Cancel(const GlobalOptions& options, Client& client, const std::string& name) {
  MDH_RETURN_IF_ERROR(client.CancelStudy(name).status());
  return ShowStudy(options, client, name);
}

// Calls `visit` for all trials of a study that were told, by number, up to `limit`.
Status ForEachTrial(Client& client, const std::string& name, int64_t limit,
                    const std::function<void(const v1::StudyTrial&)>& visit) {
  std::string token;
  do {
    const int size = static_cast<int>(std::min<int64_t>(limit, kPageSize));
    MDH_ASSIGN_OR_RETURN(const v1::ListTrialsResponse page, client.ListTrials(name, size, token));
    for (const v1::StudyTrial& trial : page.trials()) visit(trial);
    limit -= page.trials_size();
    token = page.next_page_token();
  } while (!token.empty() && limit > 0);
  return absl::OkStatus();
}

Status Trials(const GlobalOptions& options, Client& client, const std::string& name,
              int64_t limit) {
  MDH_ASSIGN_OR_RETURN(const v1::Study study, client.GetStudy(name));
  const std::vector<std::string> names = NamesOfParameters(study.spec());
  v1::ListTrialsResponse all;
  if (!options.json) std::printf("%8s  %-12s  %s\n", "TRIAL", "COST", "CONFIGURATION");
  MDH_RETURN_IF_ERROR(ForEachTrial(client, name, limit, [&](const v1::StudyTrial& trial) {
    if (options.json) {
      *all.add_trials() = trial;
    } else {
      PrintText(FormatTrialLine(trial, names));
    }
  }));
  if (options.json) PrintJson(all);
  return absl::OkStatus();
}

Status ExportTrials(Client& client, const std::string& name, bool as_json) {
  MDH_ASSIGN_OR_RETURN(const v1::Study study, client.GetStudy(name));
  const std::vector<std::string> names = NamesOfParameters(study.spec());
  PrintText(as_json ? "[" : CsvHeader(names));
  const char* separator = "\n";
  MDH_RETURN_IF_ERROR(ForEachTrial(client, name, INT64_MAX, [&](const v1::StudyTrial& trial) {
    PrintText(as_json ? separator + JsonLine(trial, names) : CsvLine(trial, names));
    separator = ",\n";
  }));
  if (as_json) PrintText("\n]\n");
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return WithExitCode(ExitCode::kCannotWrite, "standard output cannot be written");
  }
  return absl::OkStatus();
}

// A subcommand with the argument STUDY.
CLI::App* AddOnStudy(CLI::App& study, const GlobalOptions& options, SelectedCommand& selected,
                     const char* word, const char* help,
                     const std::function<Status(Client&, const std::string& name)>& call) {
  return AddCommandOn(study, selected, word, help, "STUDY", "number or name",
                      [&options, call](const std::string& name) -> Status {
                        MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                                             ConnectTo<Client>(options));
                        return call(*client, StudyNameFromArgument(name));
                      });
}

void AddLimit(CLI::App* command, int64_t& limit) {
  command->add_option("--limit", limit, "most to list")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
}

void AddList(CLI::App& study, const GlobalOptions& options, SelectedCommand& selected) {
  auto limit = std::make_shared<int64_t>(20);
  CLI::App* list = study.add_subcommand("list", "list studies, the newest first");
  AddLimit(list, *limit);
  Select(list, selected, [&options, limit] { return ListStudies(options, *limit); });
}

}  // namespace

void AddStudyCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  CLI::App* study = app.add_subcommand("study", "studies: searches of clients' own programs");
  study->require_subcommand(1);
  study->fallthrough();
  AddList(*study, options, selected);
  AddOnStudy(*study, options, selected, "show", "state, counts and best configuration",
             [&options](Client& client, const std::string& name) {
               return ShowStudy(options, client, name);
             });
  auto limit = std::make_shared<int64_t>(1'000);
  AddLimit(AddOnStudy(*study, options, selected, "trials", "list trials that were told",
                      [&options, limit](Client& client, const std::string& name) {
                        return Trials(options, client, name, *limit);
                      }),
           *limit);
  auto format = std::make_shared<std::string>("csv");
  AddOnStudy(*study, options, selected, "export",
             "write all trials that were told, a column per parameter",
             [&options, format](Client& client, const std::string& name) {
               return ExportTrials(client, name, options.json || *format == "json");
             })
      ->add_option("--format", *format, "csv or json")
      ->check(CLI::IsMember({"csv", "json"}))
      ->capture_default_str();
  AddOnStudy(*study, options, selected, "cancel", "end a study; what was found stays",
             [&options](Client& client, const std::string& name) {
               return Cancel(options, client, name);
             });
  AddOnStudy(*study, options, selected, "delete", "remove a study and its trials",
             [](Client& client, const std::string& name) { return client.DeleteStudy(name); });
}

}  // namespace mdh
