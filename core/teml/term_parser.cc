#include "core/teml/term_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/expression/expression.h"
#include "core/text/affine_parser.h"

namespace mdh {
namespace {

// Sums of products of numbers as large as these are still counted without overflow.
constexpr int64_t kLargestExtent = int64_t{1} << 40;
constexpr int64_t kLargestFactor = int64_t{1} << 20;

}  // namespace

Status TermParser::Expect(absl::string_view symbol) {
  if (stream_.Accept(symbol)) return absl::OkStatus();
  return stream_.Unexpected(absl::StrCat("'", symbol, "' as in ", usage_));
}

Result<Token> TermParser::ExpectName(absl::string_view what) {
  return stream_.ExpectName(absl::StrCat(what, " as in ", usage_));
}

Result<std::vector<Token>> TermParser::ParseNames(absl::string_view what) {
  std::vector<Token> names;
  MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
    if (names.size() == kMaxOperands) {
      return stream_.ErrorAt(stream_.Peek(), "more than ", kMaxOperands, " names");
    }
    MDH_ASSIGN_OR_RETURN(names.emplace_back(), ExpectName(what));
    return absl::OkStatus();
  }));
  return names;
}

Result<int64_t> TermParser::ParseExtent() {
  const Token token = stream_.Peek();
  const size_t begin = stream_.position();
  Result<int64_t> extent = ParseSize(&stream_, sizes_);
  if (!extent.ok()) {
    if (token.kind != Token::Kind::kName || sizes_.count(std::string(token.text)) > 0) {
      return extent;
    }
    return stream_.ErrorAt(token, "the size '", token.text, "' has no value; write ", token.text,
                           " = 64 before, or --set ", token.text, "=64");
  }
  const size_t end = stream_.position();
  for (stream_.Seek(begin); stream_.position() < end; stream_.Next()) {
    if (stream_.Peek().kind == Token::Kind::kName) {
      known_sizes_.insert(std::string(stream_.Peek().text));
    }
  }
  if (*extent >= 1 && *extent <= kLargestExtent) return extent;
  return stream_.ErrorAt(token, "an extent is ", *extent, "; extents are from 1 to 2^40");
}

Result<IteratorsSyntax> TermParser::ParseIterators() {
  IteratorsSyntax list{stream_.Peek(), {}};
  MDH_RETURN_IF_ERROR(Expect("["));
  MDH_ASSIGN_OR_RETURN(const std::vector<std::string> iterators, NamesInList());
  if (stream_.Accept("]")) return list;
  MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
    const Token token = stream_.Peek();
    MDH_ASSIGN_OR_RETURN(const AffineIndex affine, ParseAffine(&stream_, {&sizes_, iterators}));
    IteratorIndex index;
    bool is_large = affine.constant < -kLargestExtent || affine.constant > kLargestExtent;
    index.constant = affine.constant;
    for (size_t n = 0; n < iterators.size(); ++n) {
      const int64_t coefficient = affine.coefficients[n];
      is_large = is_large || coefficient < -kLargestFactor || coefficient > kLargestFactor;
      if (coefficient != 0) index.terms.push_back({iterators[n], coefficient});
    }
    if (is_large || list.indices.size() == Expression::kMaxDimensions) {
      return stream_.ErrorAt(
          token, is_large ? std::string("the index has a factor over 2^20, or an offset over 2^40")
                          : absl::StrCat("more than ", Expression::kMaxDimensions, " indices"));
    }
    list.indices.push_back(std::move(index));
    return absl::OkStatus();
  }));
  MDH_RETURN_IF_ERROR(Expect("]"));
  return list;
}

Result<std::vector<std::string>> TermParser::NamesInList() {
  std::vector<std::string> names;
  const size_t begin = stream_.position();
  for (; stream_.Peek().kind != Token::Kind::kEnd && !stream_.Peek().Is("]"); stream_.Next()) {
    const Token& token = stream_.Peek();
    const std::string name(token.text);
    if (token.kind != Token::Kind::kName || sizes_.count(name) > 0) continue;
    if (std::ranges::find(names, name) != names.end()) continue;
    if (names.size() == Expression::kMaxDimensions) {
      return stream_.ErrorAt(token, "more than ", Expression::kMaxDimensions,
                             " iterators in a list");
    }
    names.push_back(name);
  }
  stream_.Seek(begin);
  return names;
}

Result<NumberSyntax> TermParser::ParseNumber() {
  const Token token = stream_.Peek();
  MDH_ASSIGN_OR_RETURN(const int64_t value, ParseSize(&stream_, sizes_));
  return NumberSyntax{token, value};
}

Result<std::vector<PairSyntax>> TermParser::ParsePairs() {
  std::vector<PairSyntax> pairs;
  const auto parse_pair = [&]() -> Status {
    PairSyntax pair;
    MDH_ASSIGN_OR_RETURN(pair.first, ParseNumber());
    MDH_RETURN_IF_ERROR(Expect(","));
    MDH_ASSIGN_OR_RETURN(pair.second, ParseNumber());
    if (pairs.size() == Expression::kMaxDimensions) {
      return stream_.ErrorAt(pair.first.token, "more than ", Expression::kMaxDimensions, " pairs");
    }
    pairs.push_back(pair);
    return Expect("]");
  };
  MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
    MDH_RETURN_IF_ERROR(Expect("["));
    if (!stream_.Peek().Is("[")) return parse_pair();
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_RETURN_IF_ERROR(Expect("["));
      return parse_pair();
    }));
    return Expect("]");
  }));
  return pairs;
}

}  // namespace mdh
