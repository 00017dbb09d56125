#include "client/commands/call/command.h"

#include <google/protobuf/util/json_util.h>

#include <cstdio>

namespace mdh {

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

ExitCode Fail(ExitCode code, const std::string& message) {
  std::fprintf(stderr, "mdh: error: %s\n", message.c_str());
  return code;
}

ExitCode Fail(const Status& status) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return Fail(ExitCode::kNotFound, message);
    case absl::StatusCode::kCancelled:
      return Fail(ExitCode::kCancelled, message);
    default:
      return Fail(ExitCode::kServerError, message);
  }
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
