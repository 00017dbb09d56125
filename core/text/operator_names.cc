// Finding operations by their names.
#include "core/text/operator_names.h"

namespace mdh {

std::optional<ScalarOpInfo> InfixOperator(const Token& token) {
  if (token.kind != Token::Kind::kSymbol) return std::nullopt;
  for (const ScalarOpInfo& info : AllScalarOps()) {
    if (info.is_infix && token.Is(info.name)) return info;
  }
  return std::nullopt;
}

std::optional<ScalarOpInfo> FunctionNamed(absl::string_view name) {
  if (name == "fmod") return Info(ScalarOp::kRem);  // which has an operator, too
  for (const ScalarOpInfo& info : AllScalarOps()) {
    const bool is_call = !info.is_infix && info.op >= ScalarOp::kAbs;
    if (is_call && info.name == name) return info;
  }
  return std::nullopt;
}

}  // namespace mdh
