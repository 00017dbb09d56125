// Tokens of the text form, and a cursor over them.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/source.h"
#include "core/base/status.h"

namespace mdh {

struct Token {
  enum class Kind { kName, kInteger, kReal, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  absl::string_view text = {};
  size_t offset = 0;

  bool Is(absl::string_view symbol_or_name) const { return text == symbol_or_name; }
};

// The tokens of the whole text, ended by one of kind kEnd. Comments run from # or // to the end of
// the line. Errors: InvalidArgument for a text over 1 MiB and for characters that start no token.
Result<std::vector<Token>> Tokenize(const Source& source);

// Does not own the source. Every parsing function leaves it behind what it has read.
class TokenStream {
 public:
  TokenStream(const Source& source, std::vector<Token> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const;
  // Reads a token; at the end it stays there.
  Token Next();
  // Reads the next token if it is this symbol or name.
  bool Accept(absl::string_view symbol_or_name);
  Status Expect(absl::string_view symbol_or_name);
  // `what`: for the message, e.g. "the name of a buffer".
  Result<Token> ExpectName(absl::string_view what);

  size_t position() const { return position_; }
  void Seek(size_t position) { position_ = position; }

  // "expected WHAT, found 'TOKEN'", at the next token.
  Status Unexpected(absl::string_view expected) const;
  template <typename... Parts>
  Status ErrorAt(const Token& token, const Parts&... message) const {
    return source_.ErrorAt(token.offset, message...);
  }
  Status ErrorOfCode(absl::StatusCode code, const Token& token, absl::string_view message) const {
    return source_.ErrorOfCode(code, token.offset, message);
  }

  // Recursive parsing functions hold one of these: an error instead of a stack overflow.
  class Nesting {
   public:
    explicit Nesting(TokenStream* stream) : stream_(stream) { ++stream_->depth_; }
    ~Nesting() { --stream_->depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Status Check() const;

   private:
    TokenStream* stream_;
  };

 private:
  const Source& source_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  int depth_ = 0;
};

// `parse` once and again after every comma.
template <typename Parse>
Status ParseCommaSeparated(TokenStream* stream, Parse parse) {
  do {
    MDH_RETURN_IF_ERROR(parse());
  } while (stream->Accept(","));
  return absl::OkStatus();
}

}  // namespace mdh
