// Parsing views and md_hom.
#include "core/text/definition_syntax.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "core/text/header_parser.h"

namespace mdh {
namespace {

struct NamedKind {
  absl::string_view name;
  PointWiseKind kind;
};
constexpr NamedKind kNamedKinds[] = {
    {"+", PointWiseKind::kAdd},     {"*", PointWiseKind::kMul},     {"min", PointWiseKind::kMin},
    {"max", PointWiseKind::kMax},   {"&&", PointWiseKind::kAnd},    {"||", PointWiseKind::kOr},
    {"&", PointWiseKind::kBitAnd},  {"|", PointWiseKind::kBitOr},   {"^", PointWiseKind::kBitXor},
    {"fmin", PointWiseKind::kFmin}, {"fmax", PointWiseKind::kFmax},
};

constexpr size_t kMaxFunctions = 2 * Expression::kMaxDimensions;

class DefinitionParser {
 public:
  explicit DefinitionParser(TokenStream* stream) : stream_(*stream) {}

  Result<DefinitionSyntax> Parse(const Bindings& bindings) {
    MDH_ASSIGN_OR_RETURN(const HeaderSyntax header, ParseHeaderSyntax(&stream_));
    definition_.name = header.name;
    MDH_RETURN_IF_ERROR(BindParameters(header, bindings, &stream_, &types_, &sizes_));
    MDH_ASSIGN_OR_RETURN(definition_.outputs, ParseView("out_view", &stream_, &context_));
    MDH_RETURN_IF_ERROR(stream_.Expect("o"));
    MDH_RETURN_IF_ERROR(MdHom());
    MDH_RETURN_IF_ERROR(stream_.Expect("o"));
    MDH_ASSIGN_OR_RETURN(definition_.inputs, ParseView("inp_view", &stream_, &context_));
    MDH_RETURN_IF_ERROR(Where());
    return std::move(definition_);
  }

 private:
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
      return stream_.ErrorAt(start, "md_hom has ", sizes.size(), " sizes for the ",
                             dimensions_.size(), " dimensions (", absl::StrJoin(dimensions_, ","),
                             ")");
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
      return stream_.ErrorAt(start, definition_.combine_operators.size(), " combine operators for ",
                             dimensions_.size(), " dimensions");
    }
    if (stream_.Accept(",")) MDH_RETURN_IF_ERROR(Store());
    return stream_.Expect(")");
  }

  // store s, or store s<T>( buffers )
  Status Store() {
    MDH_RETURN_IF_ERROR(stream_.Expect("store"));
    StoreSyntax store;
    store.function = stream_.Peek();
    if (stream_.Peek(1).Is("(") || stream_.Peek(1).Is("<")) {
      MDH_ASSIGN_OR_RETURN(store.inputs, ParseView(store.function.text, &stream_, &context_));
    } else {
      MDH_RETURN_IF_ERROR(stream_.ExpectName("the name of a store function").status());
    }
    definition_.store = std::move(store);
    return absl::OkStatus();
  }

  Status OneCombineOperator() {
    CombineOperatorSyntax combine;
    combine.token = stream_.Peek();
    const bool is_call = stream_.Peek(1).Is("(");
    if (stream_.Accept("++") || stream_.Accept("cc")) {
      combine.is_concat = true;
    } else if (is_call && (combine.token.Is("pw") || combine.token.Is("ps"))) {
      combine.is_prefix_sum = stream_.Next().Is("ps");
      stream_.Next();
      MDH_RETURN_IF_ERROR(Operation(&combine));
      MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    } else {
      MDH_RETURN_IF_ERROR(Operation(&combine));
    }
    definition_.combine_operators.push_back(std::move(combine));
    return absl::OkStatus();
  }

  // +, (+, max) or the name of a function
  Status Operation(CombineOperatorSyntax* combine) {
    combine->token = stream_.Peek();
    if (stream_.Accept("(")) {
      combine->is_tuple = true;
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
        if (AcceptKind(combine)) return absl::OkStatus();
        return stream_.Unexpected(
            "one of + * min max && || & | ^ (operators of several results are named ones; a "
            "function can combine all results at once)");
      }));
      return stream_.Expect(")");
    }
    if (AcceptKind(combine)) return absl::OkStatus();
    return stream_.ExpectName("a combine operator").status();
  }

  bool AcceptKind(CombineOperatorSyntax* combine) {
    for (const NamedKind& named : kNamedKinds) {
      if (!stream_.Accept(named.name)) continue;
      combine->kinds.push_back(named.kind);
      return true;
    }
    return false;
  }

  Status Where() {
    if (!stream_.Accept("where")) return absl::OkStatus();
    return ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(FunctionSyntax function,
                           ParseFunction(&stream_, {types_, sizes_, dimensions_}));
      for (absl::string_view reserved : {"min", "max", "cc", "pw", "ps"}) {
        if (!function.name.Is(reserved)) continue;
        return stream_.ErrorAt(function.name, "'", reserved, "' cannot be the name of a function");
      }
      for (const FunctionSyntax& other : definition_.functions) {
        if (!function.name.Is(other.name.text)) continue;
        return stream_.ErrorAt(function.name, "two functions are called '", other.name.text, "'");
      }
      if (definition_.functions.size() == kMaxFunctions) {
        return stream_.ErrorAt(function.name, "more than ", kMaxFunctions, " functions");
      }
      definition_.functions.push_back(std::move(function));
      return absl::OkStatus();
    });
  }

  TokenStream& stream_;
  TypeNames types_;
  SizeValues sizes_;
  ViewContext context_{types_, sizes_, {}};
  std::vector<std::string>& dimensions_ = context_.dimensions;
  DefinitionSyntax definition_;
};

}  // namespace

Result<DefinitionSyntax> ParseDefinition(TokenStream* stream, const Bindings& bindings) {
  return DefinitionParser(stream).Parse(bindings);
}

}  // namespace mdh
