#include "client/commands/call/schedule_arguments.h"

#include "absl/strings/str_replace.h"
#include "client/commands/call/command.h"
#include "client/commands/call/expression_arguments.h"

namespace mdh {

void AddScheduleOption(CLI::App& command, ScheduleArguments& arguments, const std::string& what) {
  command.add_option("--schedule", arguments.file, what)->type_name("FILE");
}

Result<std::string> LoadSchedule(const ScheduleArguments& arguments) {
  if (arguments.file.empty()) return "";
  return WithExitCode(ExitCode::kBadExpression, ReadText(arguments.file));
}

Status InScheduleFile(const ScheduleArguments& arguments, const Status& error) {
  const bool is_named = arguments.file.empty() || arguments.file == "-";
  if (error.ok() || is_named) return error;
  const std::string message =
      absl::StrReplaceAll(error.message(), {{"<schedule>", arguments.file}});
  Status renamed(error.code(), message);
  error.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { renamed.SetPayload(url, payload); });
  return renamed;
}

}  // namespace mdh
