// Splitting the text form into tokens.
#include "core/text/token_stream.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 20;
constexpr int kMaxNesting = 200;

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsNamePart(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Bytes of blanks and comments at the start of `rest`.
size_t SkippedLength(absl::string_view rest) {
  size_t n = 0;
  while (n < rest.size()) {
    if (absl::ascii_isspace(rest[n])) {
      ++n;
    } else if (rest[n] == '#' || absl::StartsWith(rest.substr(n), "//")) {
      n = std::min(rest.find('\n', n), rest.size());
    } else {
      break;
    }
  }
  return n;
}

size_t CountDigits(absl::string_view rest, size_t from) {
  size_t n = from;
  while (n < rest.size() && absl::ascii_isdigit(rest[n])) ++n;
  return n - from;
}

// 12, 1.5, 1., 2e-3: `rest` starts with a digit.
Token NumberToken(absl::string_view rest, size_t offset) {
  size_t length = CountDigits(rest, 0);
  Token::Kind kind = Token::Kind::kInteger;
  if (length < rest.size() && rest[length] == '.') {
    kind = Token::Kind::kReal;
    ++length;
    length += CountDigits(rest, length);
  }
  if (length < rest.size() && (rest[length] == 'e' || rest[length] == 'E')) {
    size_t exponent = length + 1;
    if (exponent < rest.size() && (rest[exponent] == '+' || rest[exponent] == '-')) ++exponent;
    if (const size_t digits = CountDigits(rest, exponent); digits > 0) {
      kind = Token::Kind::kReal;
      length = exponent + digits;
    }
  }
  return {kind, rest.substr(0, length), offset};
}

size_t SymbolLength(absl::string_view rest) {
  for (absl::string_view symbol : {":=", "->", "++", "&&", "||", "==", "!=", "<=", ">="}) {
    if (absl::StartsWith(rest, symbol)) return symbol.size();
  }
  return absl::StrContains("<>()[]{},;:.=|+-*/%&^!?@", rest[0]) ? 1 : 0;
}

std::string Found(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end of the text";
  constexpr size_t kShown = 40;
  return absl::StrCat("'", token.text.substr(0, kShown), token.text.size() > kShown ? "..." : "",
                      "'");
}

}  // namespace

Result<std::vector<Token>> Tokenize(const Source& source) {
  const absl::string_view text = source.text();
  if (text.size() > kMaxTextBytes) {
    return InvalidArgument("the text has ", text.size(), " bytes; at most ", kMaxTextBytes,
                           " are allowed");
  }
  std::vector<Token> tokens;
  for (size_t offset = SkippedLength(text); offset < text.size();
       offset += SkippedLength(text.substr(offset))) {
    const absl::string_view rest = text.substr(offset);
    if (IsNameStart(rest[0])) {
      const size_t length = std::ranges::find_if_not(rest, IsNamePart) - rest.begin();
      tokens.push_back({Token::Kind::kName, rest.substr(0, length), offset});
    } else if (absl::ascii_isdigit(rest[0])) {
      tokens.push_back(NumberToken(rest, offset));
    } else if (const size_t length = SymbolLength(rest); length > 0) {
      tokens.push_back({Token::Kind::kSymbol, rest.substr(0, length), offset});
    } else {
      return source.ErrorAt(
          offset, absl::ascii_isprint(rest[0])
                      ? absl::StrCat("unexpected character '", rest.substr(0, 1), "'")
                      : absl::StrCat("unexpected byte 0x",
                                     absl::Hex(static_cast<uint8_t>(rest[0]), absl::kZeroPad2)));
    }
    offset += tokens.back().text.size();
  }
  // Errors at the end point behind the last token, not to what may follow it.
  const size_t end = tokens.empty() ? 0 : tokens.back().offset + tokens.back().text.size();
  tokens.push_back({Token::Kind::kEnd, "", end});
  return tokens;
}

const Token& TokenStream::Peek(size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::Next() {
  const Token token = Peek();
  if (token.kind != Token::Kind::kEnd) ++position_;
  return token;
}

bool TokenStream::Accept(absl::string_view symbol_or_name) {
  if (!Peek().Is(symbol_or_name)) return false;
  Next();
  return true;
}

Status TokenStream::Expect(absl::string_view symbol_or_name) {
  if (Accept(symbol_or_name)) return absl::OkStatus();
  return Unexpected(absl::StrCat("'", symbol_or_name, "'"));
}

Result<Token> TokenStream::ExpectName(absl::string_view what) {
  if (Peek().kind != Token::Kind::kName) return Unexpected(what);
  return Next();
}

Status TokenStream::Unexpected(absl::string_view expected) const {
  return ErrorAt(Peek(), "expected ", expected, ", found ", Found(Peek()));
}

Status TokenStream::Nesting::Check() const {
  if (stream_->depth_ <= kMaxNesting) return absl::OkStatus();
  return stream_->ErrorAt(stream_->Peek(), "nested deeper than ", kMaxNesting, " levels");
}

}  // namespace mdh
