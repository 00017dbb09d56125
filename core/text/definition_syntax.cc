// Parsing views and md_hom.
#include "core/text/definition_syntax.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/identifier.h"
#include "core/text/header_parser.h"

namespace mdh {
namespace {

struct NamedKind {
  absl::string_view name;
  PointWiseKind kind;
};
constexpr NamedKind kNamedKinds[] = {
    {"+", PointWiseKind::kAdd},    {"*", PointWiseKind::kMul},   {"min", PointWiseKind::kMin},
    {"max", PointWiseKind::kMax},  {"&&", PointWiseKind::kAnd},  {"||", PointWiseKind::kOr},
    {"&", PointWiseKind::kBitAnd}, {"|", PointWiseKind::kBitOr}, {"^", PointWiseKind::kBitXor},
};

class DefinitionParser {
 public:
  explicit DefinitionParser(TokenStream* stream) : stream_(*stream) {}

  Result<DefinitionSyntax> Parse(const Bindings& bindings) {
    MDH_ASSIGN_OR_RETURN(const HeaderSyntax header, ParseHeaderSyntax(&stream_));
    definition_.name = header.name;
    MDH_RETURN_IF_ERROR(BindParameters(header, bindings, &stream_, &types_, &sizes_));
    MDH_RETURN_IF_ERROR(View("out_view", &definition_.outputs));
    MDH_RETURN_IF_ERROR(stream_.Expect("o"));
    MDH_RETURN_IF_ERROR(MdHom());
    MDH_RETURN_IF_ERROR(stream_.Expect("o"));
    MDH_RETURN_IF_ERROR(View("inp_view", &definition_.inputs));
    MDH_RETURN_IF_ERROR(Where());
    if (stream_.Peek().kind != Token::Kind::kEnd) return stream_.Unexpected("the end of the text");
    return std::move(definition_);
  }

 private:
  Status View(absl::string_view keyword, ViewSyntax* view) {
    const Token start = stream_.Peek();
    MDH_RETURN_IF_ERROR(stream_.Expect(keyword));
    std::vector<ScalarType> types;
    if (stream_.Accept("<")) {
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
        MDH_ASSIGN_OR_RETURN(const ScalarType type, ParseType(&stream_, types_));
        types.push_back(type);
        return absl::OkStatus();
      }));
      MDH_RETURN_IF_ERROR(stream_.Expect(">"));
    }
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    if (!stream_.Peek().Is(")")) {
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&] { return OneBuffer(view); }));
    }
    MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    if (types.size() != view->buffers.size()) {
      return stream_.ErrorAt(start, absl::StrCat(keyword, " has ", types.size(), " types for ",
                                                 view->buffers.size(), " buffers"));
    }
    for (size_t b = 0; b < types.size(); ++b) view->buffers[b].type = types[b];
    return absl::OkStatus();
  }

  Status OneBuffer(ViewSyntax* view) {
    Buffer buffer{};
    BufferTokens tokens;
    MDH_ASSIGN_OR_RETURN(tokens.name, stream_.ExpectName("the name of a buffer"));
    buffer.name = std::string(tokens.name.text);
    if (stream_.Accept("[")) {
      buffer.extents_given = true;
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
        MDH_ASSIGN_OR_RETURN(const int64_t extent, ParseSize(&stream_, sizes_));
        buffer.extents.push_back(extent);
        return absl::OkStatus();
      }));
      MDH_RETURN_IF_ERROR(stream_.Expect("]"));
    }
    MDH_RETURN_IF_ERROR(stream_.Expect(":"));
    MDH_RETURN_IF_ERROR(IndexNames());
    MDH_RETURN_IF_ERROR(IndexTuple(&buffer, &tokens));
    // After a comma, a parenthesis starts another access and a name another buffer.
    while (stream_.Peek().Is(",") && stream_.Peek(1).Is("(")) {
      stream_.Next();
      if (IsIndexNamesAhead()) MDH_RETURN_IF_ERROR(IndexNames());
      MDH_RETURN_IF_ERROR(IndexTuple(&buffer, &tokens));
    }
    view->buffers.push_back(std::move(buffer));
    view->tokens.push_back(std::move(tokens));
    return absl::OkStatus();
  }

  // Whether the parenthesis ahead closes before an arrow: (i,k) -> ...
  bool IsIndexNamesAhead() const {
    size_t n = 1;
    while (stream_.Peek(n).kind == Token::Kind::kName || stream_.Peek(n).Is(",")) ++n;
    return stream_.Peek(n).Is(")") && stream_.Peek(n + 1).Is("->");
  }

  // (i,k) -> : the first one names the dimensions, all others must agree.
  Status IndexNames() {
    const Token start = stream_.Peek();
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    std::vector<Token> names;
    if (!stream_.Peek().Is(")")) {
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
        MDH_ASSIGN_OR_RETURN(const Token name, stream_.ExpectName("the name of a dimension"));
        names.push_back(name);
        return absl::OkStatus();
      }));
    }
    MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    MDH_RETURN_IF_ERROR(stream_.Expect("->"));
    if (dimensions_.empty()) return NameDimensions(start, names);
    bool agrees = names.size() == dimensions_.size();
    for (size_t d = 0; agrees && d < names.size(); ++d) agrees = names[d].Is(dimensions_[d]);
    if (agrees) return absl::OkStatus();
    return stream_.ErrorAt(
        start, absl::StrCat("all index functions must have the same dimensions; expected (",
                            absl::StrJoin(dimensions_, ","), ")"));
  }

  Status NameDimensions(const Token& start, const std::vector<Token>& names) {
    if (names.empty()) return stream_.ErrorAt(start, "there must be at least one dimension");
    if (names.size() > Expression::kMaxDimensions) {
      return stream_.ErrorAt(start,
                             absl::StrCat("more than ", Expression::kMaxDimensions, " dimensions"));
    }
    for (const Token& name : names) {
      const std::string text(name.text);
      if (!IsIdentifier(text)) {
        return stream_.ErrorAt(name, absl::StrCat("'", text, "' cannot be a name"));
      }
      if (sizes_.count(text) > 0) {
        return stream_.ErrorAt(name, absl::StrCat("'", text, "' is a size parameter already"));
      }
      for (const std::string& other : dimensions_) {
        if (other == text) {
          return stream_.ErrorAt(name, absl::StrCat("two dimensions are called '", text, "'"));
        }
      }
      dimensions_.push_back(text);
    }
    return absl::OkStatus();
  }

  // (2*i + k, 0)
  Status IndexTuple(Buffer* buffer, BufferTokens* tokens) {
    IndexFunction access;
    BufferTokens::Access access_tokens{stream_.Peek(), {}};
    const AffineNames names{&sizes_, dimensions_};
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    if (!stream_.Peek().Is(")")) {
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
        access_tokens.indices.push_back(stream_.Peek());
        MDH_ASSIGN_OR_RETURN(AffineIndex index, ParseAffine(&stream_, names));
        access.indices.push_back(std::move(index));
        if (access.indices.size() <= Expression::kMaxDimensions) return absl::OkStatus();
        return stream_.ErrorAt(
            access_tokens.start,
            absl::StrCat("a buffer of more than ", Expression::kMaxDimensions, " dimensions"));
      }));
    }
    MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    if (++accesses_ > 2 * Expression::kMaxAccesses) {
      return stream_.ErrorAt(access_tokens.start,
                             absl::StrCat("more than ", 2 * Expression::kMaxAccesses, " accesses"));
    }
    buffer->accesses.push_back(std::move(access));
    tokens->accesses.push_back(std::move(access_tokens));
    return absl::OkStatus();
  }

  Status MdHom() {
    const Token start = stream_.Peek();
    MDH_RETURN_IF_ERROR(stream_.Expect("md_hom"));
    MDH_RETURN_IF_ERROR(stream_.Expect("<"));
    std::vector<int64_t> sizes;
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      definition_.size_tokens.push_back(stream_.Peek());
      MDH_ASSIGN_OR_RETURN(const int64_t size, ParseSize(&stream_, sizes_));
      sizes.push_back(size);
      return absl::OkStatus();
    }));
    MDH_RETURN_IF_ERROR(stream_.Expect(">"));
    if (dimensions_.empty()) {
      return stream_.ErrorAt(start, "out_view names no dimensions: it has no buffer");
    }
    if (sizes.size() != dimensions_.size()) {
      return stream_.ErrorAt(
          start, absl::StrCat("md_hom has ", sizes.size(), " sizes for the ", dimensions_.size(),
                              " dimensions (", absl::StrJoin(dimensions_, ","), ")"));
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      definition_.dimensions.push_back({dimensions_[d], sizes[d]});
    }
    return MdHomArguments();
  }

  Status MdHomArguments() {
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    MDH_ASSIGN_OR_RETURN(definition_.function, stream_.ExpectName("the name of a function"));
    MDH_RETURN_IF_ERROR(stream_.Expect(","));
    const Token start = stream_.Peek();
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&] { return OneCombineOperator(); }));
    MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    if (definition_.combine_operators.size() != dimensions_.size()) {
      return stream_.ErrorAt(
          start, absl::StrCat(definition_.combine_operators.size(), " combine operators for ",
                              dimensions_.size(), " dimensions"));
    }
    return stream_.Expect(")");
  }

  Status OneCombineOperator() {
    CombineOperatorSyntax combine;
    combine.token = stream_.Peek();
    if (stream_.Accept("++") || stream_.Accept("cc")) {
      combine.is_concat = true;
    } else if (stream_.Peek().Is("pw") && stream_.Peek(1).Is("(")) {
      stream_.Next();
      stream_.Next();
      MDH_RETURN_IF_ERROR(PointWise(&combine));
      MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    } else {
      MDH_RETURN_IF_ERROR(PointWise(&combine));
    }
    definition_.combine_operators.push_back(combine);
    return absl::OkStatus();
  }

  Status PointWise(CombineOperatorSyntax* combine) {
    combine->token = stream_.Peek();
    for (const NamedKind& named : kNamedKinds) {
      if (!stream_.Accept(named.name)) continue;
      combine->kind = named.kind;
      return absl::OkStatus();
    }
    return stream_.ExpectName("a combine operator").status();
  }

  Status Where() {
    if (!stream_.Accept("where")) return absl::OkStatus();
    return ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(FunctionSyntax function, ParseFunction(&stream_, types_));
      for (absl::string_view reserved : {"min", "max", "cc", "pw"}) {
        if (!function.name.Is(reserved)) continue;
        return stream_.ErrorAt(function.name,
                               absl::StrCat("'", reserved, "' cannot be the name of a function"));
      }
      for (const FunctionSyntax& other : definition_.functions) {
        if (!function.name.Is(other.name.text)) continue;
        return stream_.ErrorAt(function.name,
                               absl::StrCat("two functions are called '", other.name.text, "'"));
      }
      definition_.functions.push_back(std::move(function));
      return absl::OkStatus();
    });
  }

  TokenStream& stream_;
  TypeNames types_;
  SizeValues sizes_;
  std::vector<std::string> dimensions_;
  size_t accesses_ = 0;
  DefinitionSyntax definition_;
};

}  // namespace

Result<DefinitionSyntax> ParseDefinition(TokenStream* stream, const Bindings& bindings) {
  return DefinitionParser(stream).Parse(bindings);
}

}  // namespace mdh
