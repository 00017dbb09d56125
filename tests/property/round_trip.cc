#include "tests/property/round_trip.h"

#include "absl/strings/str_cat.h"
#include "core/expression/canonical.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "proto/expression_conversion.h"

namespace mdh {
namespace {

std::string TextFailure(const Expression& expression, const std::string& text) {
  const Result<Expression> parsed = ParseExpression(text, {});
  if (!parsed.ok()) {
    return absl::StrCat("the text is not accepted: ", parsed.status().message(), "\n", text);
  }
  if (Digest(*parsed) != Digest(expression)) {
    return absl::StrCat("the text means something else:\n", text, CanonicalForm(expression),
                        CanonicalForm(*parsed));
  }
  const std::string again = ToText(*parsed);
  if (again == text) return "";
  return absl::StrCat("printed again the text differs:\n", text, "\n", again);
}

std::string MessageFailure(const Expression& expression, const std::string& text) {
  const v1::Expression message = ToProto(expression);
  v1::Expression received;
  if (!received.ParseFromString(message.SerializeAsString())) return "the message cannot be read";
  const Result<Expression> back = FromProto(received, ExpressionLimits::None());
  if (!back.ok()) {
    return absl::StrCat("the message is not accepted: ", back.status().message(), "\n", text, "\n",
                        message.DebugString());
  }
  if (Digest(*back) != Digest(expression)) {
    return absl::StrCat("the message means something else:\n", text, "\n", ToText(*back));
  }
  if (ToProto(*back).SerializeAsString() == message.SerializeAsString()) return "";
  return absl::StrCat("converted again the message differs:\n", message.DebugString(), "\n",
                      ToProto(*back).DebugString());
}

}  // namespace

std::string RoundTripFailure(const Expression& expression) {
  const std::string text = ToText(expression);
  std::string failure = TextFailure(expression, text);
  return failure.empty() ? MessageFailure(expression, text) : failure;
}

}  // namespace mdh
