#include "client/commands/call/command.h"

#include <google/protobuf/util/json_util.h>

#include <cstdio>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr absl::string_view kCodePayload = "mdh.exit_code";

}  // namespace

const char* const kExitCodesHelp =
    "Exit codes:\n"
    "  0  success\n"
    "  1  the daemon reported an error, or the job failed\n"
    "  2  wrong usage\n"
    "  3  the expression or specification is wrong or cannot be read\n"
    "  4  not found: no kernel for the expression, no such job or study\n"
    "  5  cannot connect to the daemon, or who listens there is not trusted\n"
    "  6  the job was cancelled; what was found so far is printed and stored\n"
    "  7  a file cannot be written";

Status WithExitCode(ExitCode code, Status error) {
  if (!error.ok()) error.SetPayload(kCodePayload, absl::Cord(absl::StrCat(static_cast<int>(code))));
  return error;
}

Status WithExitCode(ExitCode code, absl::string_view message) {
  return WithExitCode(code, absl::UnknownError(message));
}

ExitCode Report(const Status& status) {
  if (status.ok()) return ExitCode::kOk;
  if (!status.message().empty()) {
    std::fprintf(stderr, "mdh: error: %s\n", std::string(status.message()).c_str());
  }
  int code;
  if (const auto given = status.GetPayload(kCodePayload);
      given && absl::SimpleAtoi(std::string(*given), &code)) {
    return static_cast<ExitCode>(code);
  }
  return absl::IsNotFound(status)    ? ExitCode::kNotFound
         : absl::IsCancelled(status) ? ExitCode::kCancelled
                                     : ExitCode::kServerError;
}

CLI::App* AddCommandOn(CLI::App& app, SelectedCommand& selected, const std::string& name,
                       const std::string& what, const std::string& argument,
                       const std::string& argument_help,
                       std::function<Status(const std::string&)> run) {
  auto given = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option(argument, *given, argument_help)->required();
  Select(command, selected, [given, run = std::move(run)] { return run(*given); });
  return command;
}

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Fails only for messages with Any fields of unknown types; there are none.
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  return json;
}

void PrintJson(const google::protobuf::Message& message) {
  std::printf("%s", ToJson(message).c_str());
}

}  // namespace mdh
