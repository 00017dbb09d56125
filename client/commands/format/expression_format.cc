#include "client/commands/format/expression_format.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/text/printer.h"
#include "proto/expression_conversion.h"

namespace mdh {
namespace {

Result<v1::Expression> ParseMessage(const std::string& bytes, ExpressionFormat format,
                                    const std::string& source) {
  v1::Expression message;
  if (format == ExpressionFormat::kBinary) {
    if (message.ParseFromString(bytes)) return message;
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": this is no binary message mdh.v1.Expression"));
  }
  const auto status = google::protobuf::util::JsonStringToMessage(bytes, &message);
  if (status.ok()) return message;
  const std::string reason(status.message().data(), status.message().size());
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": this is no mdh.v1.Expression in protobuf's JSON: ", reason));
}

std::string WriteJson(const v1::Expression& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Fails only for messages with Any fields of unknown types; there are none.
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  return json;
}

}  // namespace

ExpressionFormat FormatOfFile(const std::string& file) {
  if (absl::EndsWith(file, ".binpb")) return ExpressionFormat::kBinary;
  if (absl::EndsWith(file, ".json")) return ExpressionFormat::kJson;
  return ExpressionFormat::kText;
}

Result<ExpressionFormat> FormatFromName(const std::string& name) {
  if (name == "text") return ExpressionFormat::kText;
  if (name == "binpb") return ExpressionFormat::kBinary;
  if (name == "json") return ExpressionFormat::kJson;
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no format; there are text, binpb, json"));
}

Result<Expression> ReadMessage(const std::string& bytes, ExpressionFormat format,
                               const std::string& source) {
  MDH_ASSIGN_OR_RETURN(const v1::Expression message, ParseMessage(bytes, format, source));
  Result<Expression> expression = FromProto(message, ExpressionLimits::None());
  if (expression.ok()) return expression;
  return Status(expression.status().code(),
                absl::StrCat(source, ": ", expression.status().message()));
}

std::string WriteExpression(const Expression& expression, ExpressionFormat format) {
  std::string bytes;
  switch (format) {
    case ExpressionFormat::kText:
      bytes = ToText(expression);
      break;
    case ExpressionFormat::kBinary:
      return ToProto(expression).SerializeAsString();
    case ExpressionFormat::kJson:
      bytes = WriteJson(ToProto(expression));
      break;
  }
  if (!absl::EndsWith(bytes, "\n")) bytes.push_back('\n');
  return bytes;
}

}  // namespace mdh
