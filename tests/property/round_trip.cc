#include "tests/property/round_trip.h"

#include "absl/strings/str_cat.h"
#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/text/parser.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "core/text/printer.h"
#include "proto/expression_conversion.h"
#include "proto/pipeline_conversion.h"

namespace mdh {
namespace {

Result<Expression> FromText(const Expression&, const std::string& text) {
  return ParseExpression(text);
}
Result<Pipeline> FromText(const Pipeline&, const std::string& text) { return ParsePipeline(text); }

Result<Expression> FromMessage(const v1::Expression& message) {
  return FromProto(message, ExpressionLimits::None());
}
Result<Pipeline> FromMessage(const v1::Pipeline& message) {
  return FromProto(message, PipelineLimits::None());
}

template <typename Computation>
std::string TextFailure(const Computation& computation, const std::string& text) {
  const Result<Computation> parsed = FromText(computation, text);
  if (!parsed.ok()) {
    return absl::StrCat("the text is not accepted: ", parsed.status().message(), "\n", text);
  }
  if (Digest(*parsed) != Digest(computation)) {
    return absl::StrCat("the text means something else:\n", text, CanonicalForm(computation),
                        CanonicalForm(*parsed));
  }
  const std::string again = ToText(*parsed);
  if (again == text) return "";
  return absl::StrCat("printed again the text differs:\n", text, "\n", again);
}

template <typename Computation>
std::string MessageFailure(const Computation& computation, const std::string& text) {
  const auto message = ToProto(computation);
  auto received = message;
  received.Clear();
  if (!received.ParseFromString(message.SerializeAsString())) return "the message cannot be read";
  const Result<Computation> back = FromMessage(received);
  if (!back.ok()) {
    return absl::StrCat("the message is not accepted: ", back.status().message(), "\n", text, "\n",
                        message.DebugString());
  }
  if (Digest(*back) != Digest(computation)) {
    return absl::StrCat("the message means something else:\n", text, "\n", ToText(*back));
  }
  if (ToProto(*back).SerializeAsString() == message.SerializeAsString()) return "";
  return absl::StrCat("converted again the message differs:\n", message.DebugString(), "\n",
                      ToProto(*back).DebugString());
}

template <typename Computation>
std::string Failure(const Computation& computation) {
  const std::string text = ToText(computation);
  std::string failure = TextFailure(computation, text);
  return failure.empty() ? MessageFailure(computation, text) : failure;
}

}  // namespace

std::string RoundTripFailure(const Expression& expression) { return Failure(expression); }

std::string RoundTripFailure(const Pipeline& pipeline) { return Failure(pipeline); }

}  // namespace mdh
