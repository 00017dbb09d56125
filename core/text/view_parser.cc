// Parsing views.
#include "core/text/view_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/identifier.h"
#include "core/text/literal_syntax.h"

namespace mdh {
namespace {

class ViewParser {
 public:
  ViewParser(absl::string_view keyword, TokenStream* stream, ViewContext* context)
      : keyword_(keyword), stream_(*stream), context_(*context) {}

  Result<ViewSyntax> Parse() {
    const Token start = stream_.Peek();
    MDH_RETURN_IF_ERROR(stream_.Expect(keyword_));
    MDH_RETURN_IF_ERROR(Types());
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    if (!stream_.Peek().Is(")")) {
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&] { return OneBuffer(); }));
    }
    MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    if (view_.types.size() != view_.buffers.size()) {
      return stream_.ErrorAt(start, keyword_, " has ", view_.types.size(), " types for ",
                             view_.buffers.size(), " buffers");
    }
    MDH_RETURN_IF_ERROR(CheckFields(start));
    for (size_t b = 0; b < view_.buffers.size(); ++b) {
      view_.buffers[b].type = *view_.types[b];
      MDH_RETURN_IF_ERROR(TypeBoundary(b));
    }
    return std::move(view_);
  }

 private:
  Status Types() {
    if (!stream_.Accept("<")) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(TypePointer type, ParseType(&stream_, context_.types));
      view_.types.push_back(std::move(type));
      return absl::OkStatus();
    }));
    return stream_.Expect(">");
  }

  // f has a parameter or result for every field of every access.
  Status CheckFields(const Token& start) const {
    size_t fields = 0;
    for (size_t b = 0; b < view_.buffers.size(); ++b) {
      fields += view_.buffers[b].accesses.size() * view_.types[b]->fields().size();
    }
    if (fields <= Expression::kMaxAccesses) return absl::OkStatus();
    return stream_.ErrorAt(start, "the accesses of ", keyword_, " have ", fields,
                           " fields together; at most ", Expression::kMaxAccesses, " are allowed");
  }

  // NAME [extents] [strides or layout] [else ... or keep] : index functions
  Status OneBuffer() {
    Buffer buffer{};
    BufferTokens tokens;
    MDH_ASSIGN_OR_RETURN(tokens.name, stream_.ExpectName("the name of a buffer"));
    buffer.name = std::string(tokens.name.text);
    if (stream_.Accept("[")) {
      buffer.extents_given = true;
      MDH_ASSIGN_OR_RETURN(buffer.extents, Sizes("]"));
    }
    MDH_RETURN_IF_ERROR(Layout(&buffer));
    MDH_RETURN_IF_ERROR(BoundaryClause(&buffer));
    if (!stream_.Accept(":")) return stream_.Unexpected(ExpectedAfter(buffer));
    MDH_RETURN_IF_ERROR(IndexNames());
    MDH_RETURN_IF_ERROR(IndexTuple(&buffer, &tokens));
    // After a comma, a parenthesis starts another access and a name another buffer.
    while (stream_.Peek().Is(",") && stream_.Peek(1).Is("(")) {
      stream_.Next();
      if (IsIndexNamesAhead()) MDH_RETURN_IF_ERROR(IndexNames());
      MDH_RETURN_IF_ERROR(IndexTuple(&buffer, &tokens));
    }
    view_.buffers.push_back(std::move(buffer));
    view_.tokens.push_back(std::move(tokens));
    return absl::OkStatus();
  }

  // For the message.
  std::string ExpectedAfter(const Buffer& buffer) const {
    if (boundaries_.back().has_value() || buffer.boundary.kind == Boundary::Kind::kClamp) {
      return "':'";
    }
    if (buffer.keeps_unreached) return "':'";
    return absl::StrCat(buffer.extents_given ? "" : "'[', ",
                        buffer.given_strides.empty() ? "'strides', 'layout', " : "",
                        keyword_ == "out_view" ? "'keep'" : "'else'", " or ':'");
  }

  Result<std::vector<int64_t>> Sizes(absl::string_view end) {
    std::vector<int64_t> values;
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(const int64_t value, ParseSize(&stream_, context_.sizes));
      values.push_back(value);
      return absl::OkStatus();
    }));
    MDH_RETURN_IF_ERROR(stream_.Expect(end));
    return values;
  }

  // strides (1, I) or layout (1, 0)
  Status Layout(Buffer* buffer) {
    const Token start = stream_.Peek();
    const bool is_layout = start.Is("layout");
    if (!is_layout && !start.Is("strides")) return absl::OkStatus();
    stream_.Next();
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    MDH_ASSIGN_OR_RETURN(buffer->given_strides, Sizes(")"));
    return is_layout ? FromPermutation(start, buffer) : absl::OkStatus();
  }

  // given_strides: dimensions from the slowest to the fastest; becomes the strides of the dense
  // buffer.
  Status FromPermutation(const Token& start, Buffer* buffer) const {
    const std::vector<int64_t> order = buffer->given_strides;
    const size_t rank = buffer->extents.size();
    if (!buffer->extents_given) {
      return stream_.ErrorAt(start, "a layout needs the extents of the buffer, as in ",
                             buffer->name, "[I, K] layout (1, 0)");
    }
    std::vector<bool> seen(rank, false);
    bool is_permutation = order.size() == rank;
    for (size_t n = 0; is_permutation && n < rank; ++n) {
      is_permutation = order[n] >= 0 && order[n] < static_cast<int64_t>(rank) && !seen[order[n]];
      if (is_permutation) seen[order[n]] = true;
    }
    if (!is_permutation) {
      return stream_.ErrorAt(start, "the layout (", absl::StrJoin(order, ", "),
                             ") does not name every dimension from 0 to ", rank - 1, " once");
    }
    int64_t stride = 1;
    for (size_t n = rank; n-- > 0;) {
      buffer->given_strides[order[n]] = stride;
      if (__builtin_mul_overflow(stride, std::max<int64_t>(buffer->extents[order[n]], 1),
                                 &stride)) {
        return stream_.ErrorOfCode(absl::StatusCode::kOutOfRange, start,
                                   "the size of the buffer does not fit in 63 bits");
      }
    }
    return absl::OkStatus();
  }

  // else 0, else {0, -inf}, else clamp, keep
  Status BoundaryClause(Buffer* buffer) {
    boundaries_.emplace_back();
    buffer->keeps_unreached = stream_.Accept("keep");
    if (!stream_.Accept("else")) return absl::OkStatus();
    if (stream_.Accept("clamp")) {
      buffer->boundary.kind = Boundary::Kind::kClamp;
      return absl::OkStatus();
    }
    const Token& next = stream_.Peek();
    if (!next.Is("-") && !next.Is("{") && !IsLiteral(next)) {
      return stream_.Unexpected("'clamp' or a literal");
    }
    MDH_ASSIGN_OR_RETURN(boundaries_.back(), ParseConstant(&stream_));
    buffer->boundary.kind = Boundary::Kind::kConstant;
    return absl::OkStatus();
  }

  Status TypeBoundary(size_t b) {
    if (!boundaries_[b].has_value()) return absl::OkStatus();
    MDH_ASSIGN_OR_RETURN(view_.buffers[b].boundary.values,
                         TypeConstant(*boundaries_[b], *view_.types[b], stream_));
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
    if (context_.dimensions.empty()) return NameDimensions(start, names);
    bool agrees = names.size() == context_.dimensions.size();
    for (size_t d = 0; agrees && d < names.size(); ++d)
      agrees = names[d].Is(context_.dimensions[d]);
    if (agrees) return absl::OkStatus();
    return stream_.ErrorAt(start, "all index functions must have the same dimensions; expected (",
                           absl::StrJoin(context_.dimensions, ","), ")");
  }

  Status NameDimensions(const Token& start, const std::vector<Token>& names) {
    if (names.empty()) return stream_.ErrorAt(start, "there must be at least one dimension");
    if (names.size() > Expression::kMaxDimensions) {
      return stream_.ErrorAt(start, "more than ", Expression::kMaxDimensions, " dimensions");
    }
    for (const Token& name : names) {
      const std::string text(name.text);
      if (!IsIdentifier(text)) return stream_.ErrorAt(name, "'", text, "' cannot be a name");
      if (context_.sizes.count(text) > 0) {
        return stream_.ErrorAt(name, "'", text, "' is a size parameter already");
      }
      for (const std::string& other : context_.dimensions) {
        if (other == text) return stream_.ErrorAt(name, "two dimensions are called '", text, "'");
      }
      context_.dimensions.push_back(text);
    }
    return absl::OkStatus();
  }

  // (2*i + k, 0)
  Status IndexTuple(Buffer* buffer, BufferTokens* tokens) {
    IndexFunction access;
    BufferTokens::Access access_tokens{stream_.Peek(), {}};
    const AffineNames names{&context_.sizes, context_.dimensions};
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    if (!stream_.Peek().Is(")")) {
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
        access_tokens.indices.push_back(stream_.Peek());
        MDH_ASSIGN_OR_RETURN(AffineIndex index, ParseAffine(&stream_, names));
        access.indices.push_back(std::move(index));
        if (access.indices.size() <= Expression::kMaxDimensions) return absl::OkStatus();
        return stream_.ErrorAt(access_tokens.start, "a buffer of more than ",
                               Expression::kMaxDimensions, " dimensions");
      }));
    }
    MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    if (++context_.accesses > 2 * Expression::kMaxAccesses) {
      return stream_.ErrorAt(access_tokens.start, "more than ", 2 * Expression::kMaxAccesses,
                             " accesses");
    }
    buffer->accesses.push_back(std::move(access));
    tokens->accesses.push_back(std::move(access_tokens));
    return absl::OkStatus();
  }

  const absl::string_view keyword_;
  TokenStream& stream_;
  ViewContext& context_;
  ViewSyntax view_;
  std::vector<std::optional<ConstantSyntax>> boundaries_;  // one per buffer
};

}  // namespace

Result<ViewSyntax> ParseView(absl::string_view keyword, TokenStream* stream, ViewContext* context) {
  return ViewParser(keyword, stream, context).Parse();
}

}  // namespace mdh
