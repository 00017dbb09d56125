#include "client/commands/format/expression_format.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/text/pipeline_printer.h"
#include "core/text/printer.h"
#include "proto/pipeline_conversion.h"

namespace mdh {
namespace {

// Errors: InvalidArgument.
Status ParseMessage(const std::string& bytes, ExpressionFormat format, const std::string& source,
                    google::protobuf::Message& message) {
  const std::string name = message.GetDescriptor()->full_name();
  if (format == ExpressionFormat::kBinary) {
    if (message.ParseFromString(bytes)) return absl::OkStatus();
    return InvalidArgument(source, ": this is no binary message ", name);
  }
  const auto status = google::protobuf::util::JsonStringToMessage(bytes, &message);
  if (status.ok()) return absl::OkStatus();
  const std::string reason(status.message().data(), status.message().size());
  return InvalidArgument(source, ": this is no ", name, " in protobuf's JSON: ", reason);
}

// A message says nothing of its type: only pipelines have steps, and only expressions have a
// function.
bool IsPipeline(const std::string& bytes, ExpressionFormat format) {
  v1::Expression expression;
  v1::Pipeline pipeline;
  const bool is_expression =
      ParseMessage(bytes, format, "", expression).ok() && expression.has_function();
  return !is_expression && ParseMessage(bytes, format, "", pipeline).ok() &&
         pipeline.steps_size() > 0;
}

// With the source in front of what is wrong.
template <typename Value>
Result<Computation> From(const std::string& source, Result<Value> read) {
  if (read.ok()) return *std::move(read);
  return Status(read.status().code(), absl::StrCat(source, ": ", read.status().message()));
}

std::string WriteJson(const google::protobuf::Message& message) {
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
  return InvalidArgument("'", name, "' is no format; there are text, binpb, json");
}

Result<Computation> ReadMessage(const std::string& bytes, ExpressionFormat format,
                                const std::string& source) {
  if (IsPipeline(bytes, format)) {
    v1::Pipeline message;
    MDH_RETURN_IF_ERROR(ParseMessage(bytes, format, source, message));
    Result<Pipeline> pipeline = FromProto(message, PipelineLimits::None());
    if (pipeline.ok()) return ToComputation(*std::move(pipeline));
    return From(source, std::move(pipeline));
  }
  v1::Expression message;
  MDH_RETURN_IF_ERROR(ParseMessage(bytes, format, source, message));
  return From(source, FromProto(message, ExpressionLimits::None()));
}

std::string WriteComputation(const Computation& computation, ExpressionFormat format) {
  return std::visit(
      [format](const auto& one) {
        std::string bytes;
        switch (format) {
          case ExpressionFormat::kText:
            bytes = ToText(one);
            break;
          case ExpressionFormat::kBinary:
            return ToProto(one).SerializeAsString();
          case ExpressionFormat::kJson:
            bytes = WriteJson(ToProto(one));
            break;
        }
        if (!absl::EndsWith(bytes, "\n")) bytes.push_back('\n');
        return bytes;
      },
      computation);
}

}  // namespace mdh
