// What the commands of `mdh` share: options of all of them, exit codes, errors, JSON.
#pragma once

#include <google/protobuf/message.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "client/client.h"
#include "core/base/status.h"

namespace mdh {

enum class ExitCode {
  kOk = 0,
  kServerError = 1,  // the daemon refused, or the job failed
  kUsage = 2,
  kBadExpression = 3,
  kNotFound = 4,
  kCannotConnect = 5,
  kCancelled = 6,
  kCannotWrite = 7,
};

// For the end of --help.
extern const char* const kExitCodesHelp;

// Given before or after the command's name.
struct GlobalOptions {
  std::string server;
  ClientOptions client;
  bool json = false;
};

// The command that the command line asks for; set while it is parsed, called afterwards. Its error
// says what main reports.
using SelectedCommand = std::function<Status()>;

// Each adds commands to `app`. `options` and `selected` must outlive `app`.
void AddTuneCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddLookupCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddKernelCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddJobCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddTrialsCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddRecordCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddAdminCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddReportCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddTopCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddShellCommands(CLI::App& app, const std::string& version, SelectedCommand& selected);
void AddDeviceCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddStudyCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddTuneProgramCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddEvaluateProgramCommand(CLI::App& app, SelectedCommand& selected);
void AddCompareTechniquesCommand(CLI::App& app, const GlobalOptions& options,
                                 SelectedCommand& selected);
void AddScheduleCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddExploreCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);
void AddExpressionCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);

// An error that ends the program with that code; one without a message has been shown.
Status WithExitCode(ExitCode code, Status error);
Status WithExitCode(ExitCode code, absl::string_view message);
template <typename T>
Result<T> WithExitCode(ExitCode code, Result<T> result) {
  if (result.ok()) return result;
  return WithExitCode(code, result.status());
}
// Prints "mdh: error: <message>" to standard error for an error that has one. Gives its code; of
// one without, as of a call, that which fits its status.
ExitCode Report(const Status& status);

// A message as one JSON object on several lines, fields named as in mdh.v1; as everywhere in
// protobuf's JSON, 64-bit integers are strings.
std::string ToJson(const google::protobuf::Message& message);
// The same to standard output.
void PrintJson(const google::protobuf::Message& message);
// As JSON if that is asked for, else as `print` does it.
template <typename Message, typename Print>
void Show(const GlobalOptions& options, const Message& message, const Print& print) {
  options.json ? PrintJson(message) : print(message);
}

// Client or AdminClient. Errors: with ExitCode::kCannotConnect.
template <typename AnyClient>
Result<std::unique_ptr<AnyClient>> ConnectTo(const GlobalOptions& options) {
  return WithExitCode(ExitCode::kCannotConnect, AnyClient::Connect(options.server, options.client));
}

// Up to `limit` of what `page` lists, over as many pages as that takes. `entries`: of a page;
// `list`: the page behind a token, with at most so many of them.
template <typename Page, typename Entries, typename List>
Result<Page> ListUpTo(int64_t limit, Entries* (Page::*entries)(), const List& list) {
  constexpr int64_t kMostOfPage = 1'000;
  Page all;
  Entries& listed = *(all.*entries)();
  do {
    const auto size = static_cast<int>(std::min(limit - listed.size(), kMostOfPage));
    MDH_ASSIGN_OR_RETURN(Page page, list(size, all.next_page_token()));
    listed.MergeFrom(*(page.*entries)());
    all.set_next_page_token(page.next_page_token());
  } while (!all.next_page_token().empty() && listed.size() < limit);
  return all;
}

// `run` is what the command line asks for with `command`.
template <typename Run>
void Select(CLI::App* command, SelectedCommand& selected, Run run) {
  command->callback([&selected, run = std::move(run)] { selected = run; });
}
// A command with one argument.
CLI::App* AddCommandOn(CLI::App& app, SelectedCommand& selected, const std::string& name,
                       const std::string& what, const std::string& argument,
                       const std::string& argument_help,
                       std::function<Status(const std::string&)> run);

}  // namespace mdh
