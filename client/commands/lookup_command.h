// Finding a record for what the command line names.
#pragma once

#include "client/client.h"
#include "client/commands/call/command.h"
#include "client/commands/call/device_argument.h"
#include "client/commands/call/expression_arguments.h"
#include "client/commands/call/schedule_arguments.h"

namespace mdh {

struct LookupArguments {
  ExpressionArguments expression;  // a file, or a digest instead of it
  bool compatible = false;
  v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED;
  DeviceArgument device = {};
  ScheduleArguments schedule = {};  // that the search kept to
};

// How much of a record is shown.
enum class RecordDetail { kShort, kTable };

// --table: sets `detail`.
void AddTableOption(CLI::App& command, RecordDetail& detail);
// Prints a record, and what to do with it. `job`: the one that found it; empty: not known.
void PrintRecord(const v1::TuningRecord& record, RecordDetail detail,
                 const LookupArguments& arguments, const std::string& job);

// --numerics exact: sets `policy`.
void AddNumericsOption(CLI::App& command, v1::NumericsPolicy& policy);
void AddLookupArguments(CLI::App& command, LookupArguments& arguments);

// Whether an argument is the digest of an expression and no file.
bool IsDigest(const std::string& text);

// The words of the command that writes the kernel; none for what comes from standard input.
std::vector<std::string> KernelCommand(const LookupArguments& arguments);

struct LookupResult {
  std::unique_ptr<Client> client;
  v1::LookupKernelResponse found;
};
Result<LookupResult> ConnectAndLookup(const GlobalOptions& options,
                                      const LookupArguments& arguments);

}  // namespace mdh
