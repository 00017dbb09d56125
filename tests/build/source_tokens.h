// The tokens of a C++ text.

#pragma once

#include <string_view>
#include <vector>

namespace mdh {

struct SourceToken {
  enum class Kind { kWord, kLiteral, kSymbol, kDirective };
  Kind kind = Kind::kSymbol;
  std::string_view text;  // a part of the whole
  int line = 0;           // from 1
};

// Without comments. A directive is one token; "::" and "->" are, other symbols have one character.
std::vector<SourceToken> SourceTokens(std::string_view text);

}  // namespace mdh
