// What the commands of `mdh` share: options of all of them, exit codes, errors, JSON.
#pragma once

#include <google/protobuf/message.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

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

// The command that the command line asks for; set while it is parsed, called afterwards.
using SelectedCommand = std::function<ExitCode()>;

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
void AddExpressionCommands(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected);

// Prints "mdh: error: <message>" to standard error and returns `code`.
ExitCode Fail(ExitCode code, const std::string& message);
// The code that fits the status of a call.
ExitCode Fail(const Status& status);

// A message as one JSON object on several lines, fields named as in mdh.v1; as everywhere in
// protobuf's JSON, 64-bit integers are strings.
std::string ToJson(const google::protobuf::Message& message);
// The same to standard output.
void PrintJson(const google::protobuf::Message& message);

}  // namespace mdh
