// Numbers, strings, names and symbols of formulas.
#include "tuner/space/formula/formula_lexer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace mdh {
namespace {

using Kind = FormulaToken::Kind;

constexpr uint64_t kLargestInteger = uint64_t{1} << 63;

bool IsWordCharacter(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Length of the number at the beginning of `text`, whether or not it is well-formed: 1.5e-3, 0x1f,
// but also 12ab.
size_t NumberLength(std::string_view text) {
  const bool is_hexadecimal = text.size() > 1 && text[0] == '0' && (text[1] | 0x20) == 'x';
  size_t length = 0;
  while (length < text.size()) {
    const char c = text[length];
    const bool is_sign_of_exponent =
        (c == '+' || c == '-') && length > 0 && !is_hexadecimal && (text[length - 1] | 0x20) == 'e';
    if (!IsWordCharacter(c) && c != '.' && !is_sign_of_exponent) break;
    ++length;
  }
  return length;
}

bool AllDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return absl::ascii_isdigit(c); });
}

// Digits with a point or an exponent: 1.5, 1., .5, 1e3, 1.5E-3.
bool IsReal(std::string_view text) {
  const size_t exponent = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, exponent);
  if (exponent != std::string_view::npos) {
    std::string_view digits = text.substr(exponent + 1);
    if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) digits.remove_prefix(1);
    if (!AllDigits(digits)) return false;
  }
  const size_t point = mantissa.find('.');
  if (point == std::string_view::npos) {
    return exponent != std::string_view::npos && AllDigits(mantissa);
  }
  const std::string_view before = mantissa.substr(0, point);
  const std::string_view after = mantissa.substr(point + 1);
  return (before.empty() || AllDigits(before)) && (after.empty() || AllDigits(after)) &&
         !(before.empty() && after.empty());
}

absl::string_view Abseil(std::string_view text) { return {text.data(), text.size()}; }

// Value of a decimal or hexadecimal integer; false if it is larger than 2^63.
bool ParseInteger(std::string_view text, uint64_t* value) {
  const bool parsed = text.size() > 1 && (text[1] | 0x20) == 'x'
                          ? absl::SimpleHexAtoi(Abseil(text), value)
                          : absl::SimpleAtoi(Abseil(text), value);
  return parsed && *value <= kLargestInteger;
}

bool IsInteger(std::string_view text) {
  if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
    return std::all_of(text.begin() + 2, text.end(),
                       [](char c) { return absl::ascii_isxdigit(c); });
  }
  // As in Python, no zeros in front.
  return AllDigits(text) && (text.size() == 1 || text[0] != '0');
}

// The character that \c stands for; 0 if none. \x is not among them.
char Escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return 0;
  }
}

}  // namespace

std::string QuotedText(std::string_view text) {
  constexpr size_t kMaxLength = 40;
  std::string escaped =
      absl::Utf8SafeCHexEscape(Abseil(text.substr(0, std::min(text.size(), kMaxLength))));
  // Single quotes need no escape here.
  escaped = absl::StrReplaceAll(escaped, {{"\\'", "'"}});
  return absl::StrCat("'", escaped, text.size() > kMaxLength ? "...'" : "'");
}

Status FormulaLexer::ErrorAt(size_t offset, std::string_view message) const {
  // Bytes that continue a character do not count.
  const auto column =
      std::count_if(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset),
                    [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return InvalidArgument("column ", column + 1, ": ", std::string(message));
}

Result<FormulaToken> FormulaLexer::Next() {
  while (offset_ < text_.size() && absl::ascii_isspace(text_[offset_])) ++offset_;
  if (offset_ == text_.size()) return FormulaToken{.kind = Kind::kEnd, .offset = offset_};
  const char c = text_[offset_];
  const char next = offset_ + 1 < text_.size() ? text_[offset_ + 1] : '\0';
  if (absl::ascii_isdigit(c) || (c == '.' && absl::ascii_isdigit(next))) return Number();
  if (c == '"' || c == '\'') return String();
  if (!IsWordCharacter(c)) return Symbol();
  const size_t begin = offset_;
  while (offset_ < text_.size() && IsWordCharacter(text_[offset_])) ++offset_;
  return FormulaToken{
      .kind = Kind::kName, .text = text_.substr(begin, offset_ - begin), .offset = begin};
}

Result<FormulaToken> FormulaLexer::Number() {
  const std::string_view text = text_.substr(offset_, NumberLength(text_.substr(offset_)));
  FormulaToken token{.kind = Kind::kInteger, .text = text, .offset = offset_};
  if (IsInteger(text)) {
    if (!ParseInteger(text, &token.integer)) {
      return ErrorAt(offset_, absl::StrCat("the integer ", QuotedText(text),
                                           " does not fit into 64 bits; 1e30 would be a real"));
    }
  } else if (IsReal(text)) {
    token.kind = Kind::kReal;
    if (!absl::SimpleAtod(Abseil(text), &token.real) || !std::isfinite(token.real)) {
      return ErrorAt(offset_, absl::StrCat("the real ", QuotedText(text), " is too large"));
    }
  } else {
    return ErrorAt(offset_, absl::StrCat("malformed number ", QuotedText(text)));
  }
  offset_ += text.size();
  return token;
}

Result<FormulaToken> FormulaLexer::String() {
  const size_t begin = offset_;
  const char quote = text_[offset_++];
  FormulaToken token{.kind = Kind::kString, .offset = begin};
  while (offset_ < text_.size() && text_[offset_] != '\n') {
    const char c = text_[offset_++];
    if (c == quote) {
      token.text = text_.substr(begin, offset_ - begin);
      return token;
    }
    if (c != '\\' || offset_ == text_.size()) {
      token.content += c;
      continue;
    }
    const char escape = text_[offset_++];
    if (escape == 'x' && offset_ + 2 <= text_.size() && absl::ascii_isxdigit(text_[offset_]) &&
        absl::ascii_isxdigit(text_[offset_ + 1])) {
      token.content += absl::HexStringToBytes(Abseil(text_.substr(offset_, 2)));
      offset_ += 2;
    } else if (Escaped(escape) != 0) {
      token.content += Escaped(escape);
    } else {
      return ErrorAt(offset_ - 2,
                     absl::StrCat("unknown escape ", QuotedText(text_.substr(offset_ - 2, 2)),
                                  " in a string"));
    }
  }
  return ErrorAt(begin, "the string that begins here has no end");
}

Result<FormulaToken> FormulaLexer::Symbol() {
  constexpr std::array<std::string_view, 22> kSymbols = {
      "**", "//", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*",
      "/",  "%",  "<",  ">",  "!",  "(",  ")",  "[",  "]", ",", "?"};
  struct Hint {
    std::string_view symbol;
    std::string_view use;
  };
  constexpr std::array<Hint, 5> kHints = {
      {{"=", "=="}, {"&", "and"}, {"|", "or"}, {"^", "**"}, {"~", "not"}}};
  const std::string_view rest = text_.substr(offset_);
  const size_t begin = offset_;
  for (const std::string_view symbol : kSymbols) {
    if (rest.substr(0, symbol.size()) != symbol) continue;
    offset_ += symbol.size();
    return FormulaToken{
        .kind = Kind::kSymbol, .text = rest.substr(0, symbol.size()), .offset = begin};
  }
  if (rest[0] == ':') {
    ++offset_;
    return FormulaToken{.kind = Kind::kSymbol, .text = rest.substr(0, 1), .offset = begin};
  }
  for (const Hint& hint : kHints) {
    if (rest[0] != hint.symbol[0]) continue;
    return ErrorAt(begin, absl::StrCat("formulas have no operator ", QuotedText(hint.symbol),
                                       "; use ", QuotedText(hint.use)));
  }
  // All bytes of the character.
  size_t length = 1;
  while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xc0) == 0x80)
    ++length;
  return ErrorAt(begin, absl::StrCat("unexpected character ", QuotedText(rest.substr(0, length))));
}

}  // namespace mdh
