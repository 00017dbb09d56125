// Tokens of the text form of formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace mdh {

struct FormulaToken {
  enum class Kind : uint8_t { kEnd, kInteger, kReal, kString, kName, kSymbol };
  Kind kind = Kind::kEnd;
  // As it is written.
  std::string_view text = {};
  size_t offset = 0;
  // Value of a literal. Integers are at most 2^63, which is one only behind a sign.
  uint64_t integer = 0;
  double real = 0;
  std::string content = {};
};

// Cuts a text into tokens, one after the other. The text must outlive it.
class FormulaLexer {
 public:
  explicit FormulaLexer(std::string_view text) : text_(text) {}

  // At the end of the text: kEnd, as often as asked. Errors: InvalidArgument with the column.
  Result<FormulaToken> Next();

  // "column 7: " and the message; the first character is in column 1.
  Status ErrorAt(size_t offset, std::string_view message) const;

 private:
  Result<FormulaToken> Number();
  Result<FormulaToken> String();
  Result<FormulaToken> Symbol();

  std::string_view text_;
  size_t offset_ = 0;
};

// A piece of the text in quotes, for messages: cut if it is long, unprintable bytes escaped.
std::string QuotedText(std::string_view text);

}  // namespace mdh
