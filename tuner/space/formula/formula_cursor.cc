// Tokens one by one, with errors that say what was expected.
#include "tuner/space/formula/formula_cursor.h"

#include "tuner/space/formula/formula_text.h"

namespace mdh {

using Kind = FormulaToken::Kind;

Status FormulaCursor::Advance() {
  MDH_ASSIGN_OR_RETURN(token_, lexer_.Next());
  return absl::OkStatus();
}

bool FormulaCursor::NextIs(std::string_view text) const {
  return (token_.kind == Kind::kName || token_.kind == Kind::kSymbol) && token_.text == text;
}

Result<bool> FormulaCursor::Accept(std::string_view text) {
  if (!NextIs(text)) return false;
  MDH_RETURN_IF_ERROR(Advance());
  return true;
}

Status FormulaCursor::Expect(std::string_view text) {
  if (!NextIs(text)) return Expected(QuotedText(text));
  return Advance();
}

Status FormulaCursor::Expected(std::string_view what) const {
  return ErrorAt(token_.offset, "expected ", std::string(what), ", but found ",
                 token_.kind == Kind::kEnd ? "the end" : QuotedText(token_.text));
}

Status FormulaCursor::Enter() {
  if (++nesting_ <= kMaxFormulaNesting) return absl::OkStatus();
  return ErrorAt(token_.offset, "the formula nests more than ", kMaxFormulaNesting, " levels deep");
}

}  // namespace mdh
