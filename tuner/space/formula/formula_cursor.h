// Where the parser of formulas is: the next token, and how deep it is nested.
#pragma once

#include <string_view>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "tuner/space/formula/formula_lexer.h"

namespace mdh {

class FormulaCursor {
 public:
  // Stands before the first token; Advance first. The text must outlive it.
  explicit FormulaCursor(std::string_view text) : lexer_(text) {}

  const FormulaToken& token() const { return token_; }
  // Goes to the next token. Errors: those of FormulaLexer.
  Status Advance();
  // Whether the token is this symbol or word.
  bool NextIs(std::string_view text) const;
  // Goes on if it is, and says whether it was.
  Result<bool> Accept(std::string_view text);
  // Goes on. Errors: InvalidArgument if the token is another one.
  Status Expect(std::string_view text);

  // "column 7: expected a value, but found ')'".
  Status Expected(std::string_view what) const;
  template <typename... Parts>
  Status ErrorAt(size_t offset, const Parts&... message) const {
    return lexer_.ErrorAt(offset, absl::StrCat(message...));
  }

  // Begin and end of something that nests. Errors: InvalidArgument if it is too deep.
  Status Enter();
  void Leave() { --nesting_; }

 private:
  FormulaLexer lexer_;
  FormulaToken token_;
  int nesting_ = 0;
};

}  // namespace mdh
