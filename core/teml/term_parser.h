// Parts of TeML statements: names, sizes, lists of iterators, pairs of dimensions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/teml/syntax.h"
#include "core/text/token_stream.h"

namespace mdh {

// Every error says how what is being read is written. Does not own the stream.
class TermParser {
 public:
  static constexpr size_t kMaxOperands = 64;

  explicit TermParser(TokenStream* stream) : stream_(*stream) {}

  // As in "expected ',', as in build(t)".
  Status Expect(absl::string_view symbol);
  Result<Token> ExpectName(absl::string_view what);
  Result<std::vector<Token>> ParseNames(absl::string_view what);
  Result<int64_t> ParseExtent();
  Result<IteratorsSyntax> ParseIterators();
  // Names up to the bracket that are no sizes. Keeps the position.
  Result<std::vector<std::string>> NamesInList();
  Result<NumberSyntax> ParseNumber();
  // [1, 2], [[1, 2], [3, 4]], and several of them.
  Result<std::vector<PairSyntax>> ParsePairs();

 protected:
  TokenStream& stream_;
  std::map<std::string, int64_t, std::less<>> sizes_;
  std::set<std::string> known_sizes_;  // that have a statement or are in a shape
  std::string usage_;                  // as in "build(t)"
};

}  // namespace mdh
