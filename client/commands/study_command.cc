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

using OnClient = std::function<ExitCode(Client&)>;

ExitCode WithClient(const GlobalOptions& options, const OnClient& call) {
  const Result<std::unique_ptr<Client>> client = Client::Connect(options.server, options.client);
  if (!client.ok()) return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
  return call(**client);
}

// "17" or "studies/17".
std::string StudyNameFromArgument(const std::string& argument) {
  return argument.find('/') == std::string::npos ? "studies/" + argument : argument;
}

void PrintText(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

ExitCode ListStudies(const GlobalOptions& options, Client& client, int limit) {
  v1::ListStudiesResponse all;
  do {
    const Result<v1::ListStudiesResponse> page =
        client.ListStudies(std::min(limit - all.studies_size(), kPageSize), all.next_page_token());
    if (!page.ok()) return Fail(page.status());
    all.mutable_studies()->MergeFrom(page->studies());
    all.set_next_page_token(page->next_page_token());
  } while (!all.next_page_token().empty() && all.studies_size() < limit);
  if (options.json) {
    PrintJson(all);
    return ExitCode::kOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const v1::Study& study : all.studies()) rows.push_back(StudyRow(study));
  PrintTable(StudyTable(), rows);
  return ExitCode::kOk;
}

ExitCode Show(const GlobalOptions& options, Client& client, const std::string& name) {
  const Result<v1::Study> study = client.GetStudy(name);
  if (!study.ok()) return Fail(study.status());
  if (options.json) {
    PrintJson(*study);
  } else {
    PrintWrapped(FormatStudy(*study), 15);
  }
  return ExitCode::kOk;
}

ExitCode Cancel(const GlobalOptions& options, Client& client, const std::string& name) {
  const Result<v1::Study> study = client.CancelStudy(name);
  if (!study.ok()) return Fail(study.status());
  return Show(options, client, name);
}

ExitCode Delete(Client& client, const std::string& name) {
  const Status status = client.DeleteStudy(name);
  return status.ok() ? ExitCode::kOk : Fail(status);
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

ExitCode Trials(const GlobalOptions& options, Client& client, const std::string& name,
                int64_t limit) {
  const Result<v1::Study> study = client.GetStudy(name);
  if (!study.ok()) return Fail(study.status());
  const std::vector<std::string> names = NamesOfParameters(study->spec());
  v1::ListTrialsResponse all;
  if (!options.json) std::printf("%8s  %-12s  %s\n", "TRIAL", "COST", "CONFIGURATION");
  const Status status = ForEachTrial(client, name, limit, [&](const v1::StudyTrial& trial) {
    if (options.json) {
      *all.add_trials() = trial;
    } else {
      PrintText(FormatTrialLine(trial, names));
    }
  });
  if (!status.ok()) return Fail(status);
  if (options.json) PrintJson(all);
  return ExitCode::kOk;
}

ExitCode ExportTrials(Client& client, const std::string& name, bool as_json) {
  const Result<v1::Study> study = client.GetStudy(name);
  if (!study.ok()) return Fail(study.status());
  const std::vector<std::string> names = NamesOfParameters(study->spec());
  PrintText(as_json ? "[" : CsvHeader(names));
  const char* separator = "\n";
  const Status status = ForEachTrial(client, name, INT64_MAX, [&](const v1::StudyTrial& trial) {
    PrintText(as_json ? separator + JsonLine(trial, names) : CsvLine(trial, names));
    separator = ",\n";
  });
  if (!status.ok()) return Fail(status);
  if (as_json) PrintText("\n]\n");
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return Fail(ExitCode::kCannotWrite, "standard output cannot be written");
  }
  return ExitCode::kOk;
}

using OnStudy = std::function<ExitCode(Client&, const std::string& name)>;

// A subcommand with the argument STUDY.
CLI::App* AddOnStudy(CLI::App& study, const GlobalOptions& options, SelectedCommand& selected,
                     const char* word, const char* help, const OnStudy& call) {
  CLI::App* command = study.add_subcommand(word, help);
  auto name = std::make_shared<std::string>();
  command->add_option("STUDY", *name, "number or name")->required();
  command->callback([&options, &selected, name, call] {
    selected = [&options, name, call] {
      return WithClient(options, [name, call](Client& client) {
        return call(client, StudyNameFromArgument(*name));
      });
    };
  });
  return command;
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
  list->callback([&options, &selected, limit] {
    selected = [&options, limit] {
      return WithClient(options, [&options, limit](Client& client) {
        return ListStudies(options, client, static_cast<int>(*limit));
      });
    };
  });
}

}  // namespace

void AddStudyCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  CLI::App* study = app.add_subcommand("study", "studies: searches of clients' own programs");
  study->require_subcommand(1);
  study->fallthrough();
  AddList(*study, options, selected);
  AddOnStudy(
      *study, options, selected, "show", "state, counts and best configuration",
      [&options](Client& client, const std::string& name) { return Show(options, client, name); });
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
             [](Client& client, const std::string& name) { return Delete(client, name); });
}

}  // namespace mdh
