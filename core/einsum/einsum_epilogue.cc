#include "core/einsum/einsum_epilogue.h"

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/text/function_typing.h"

namespace mdh {
namespace {

constexpr absl::string_view kSum = "out";

// Reads accesses, and leaves a text without them, in which each is a parameter.
class EpilogueParser {
 public:
  EpilogueParser(const Source& source, std::vector<Token> tokens,
                 const std::vector<Dimension>& dimensions, const std::vector<bool>& reduced,
                 ScalarType type, ScalarType accumulate)
      : source_(source),
        stream_(source, std::move(tokens)),
        reduced_(reduced),
        type_(type),
        accumulate_(accumulate) {
    for (const Dimension& dimension : dimensions) dimensions_.push_back(dimension.name);
  }

  Result<StoreFunction> Run() {
    std::vector<Token> without_accesses;
    while (stream_.Peek().kind != Token::Kind::kEnd) MDH_RETURN_IF_ERROR(Next(&without_accesses));
    without_accesses.push_back(stream_.Peek());
    for (const Token& name : bare_) {
      const bool is_buffer = std::ranges::any_of(
          inputs_, [&](const Input& input) { return input.buffer.name == name.text; });
      if (!is_buffer) continue;
      return stream_.ErrorAt(name, "'", name.text,
                             "' is a buffer, which has indices; a "
                             "single value is ",
                             name.text, "[]");
    }
    return Typed(std::move(without_accesses));
  }

 private:
  struct Input {
    Buffer buffer;
    std::vector<Token> parameters;  // one per access
  };

  Status Next(std::vector<Token>* rest) {
    const Token token = stream_.Next();
    const bool is_name = token.kind == Token::Kind::kName;
    if (is_name && stream_.Peek().Is("[")) return Access(token, rest);
    if (is_name && !stream_.Peek().Is("(")) {
      MDH_RETURN_IF_ERROR(CheckNotReduced(token));
      bare_.push_back(token);
    }
    rest->push_back(token);
    return absl::OkStatus();
  }

  Status CheckNotReduced(const Token& name) const {
    const auto d = std::ranges::find(dimensions_, name.text);
    if (d == dimensions_.end() || !reduced_[d - dimensions_.begin()]) return absl::OkStatus();
    return stream_.ErrorAt(name, "'", name.text, "' is summed over: there is one sum for all '",
                           name.text, "', and what depends on '", name.text,
                           "' belongs among the operands");
  }

  // NAME[INDEX,...]: TYPE(PARAMETER) instead.
  Status Access(const Token& name, std::vector<Token>* rest) {
    const bool is_dimension = std::ranges::find(dimensions_, name.text) != dimensions_.end();
    if (is_dimension || name.Is(kSum)) {
      return stream_.ErrorAt(name, "'", name.text, "' is ", is_dimension ? "an index" : "the sum",
                             ", which has no indices of its own");
    }
    MDH_ASSIGN_OR_RETURN(IndexFunction function, Indices());
    Input& input = InputOf(name);
    const size_t rank = input.buffer.accesses.empty() ? function.indices.size()
                                                      : input.buffer.accesses[0].indices.size();
    if (function.indices.size() != rank) {
      return stream_.ErrorAt(name, "'", name.text, "' has ", rank,
                             rank == 1 ? " index" : " indices", " elsewhere, but ",
                             function.indices.size(), " here");
    }
    const Token parameter = ParameterOf(name, std::move(function), &input);
    if (type_ == accumulate_) {
      rest->push_back(parameter);
      return absl::OkStatus();
    }
    rest->push_back({Token::Kind::kName, Name(accumulate_), name.offset});
    rest->push_back({Token::Kind::kSymbol, "(", name.offset});
    rest->push_back(parameter);
    rest->push_back({Token::Kind::kSymbol, ")", name.offset});
    return absl::OkStatus();
  }

  Result<IndexFunction> Indices() {
    IndexFunction function;
    MDH_RETURN_IF_ERROR(stream_.Expect("["));
    if (stream_.Accept("]")) return function;
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      for (size_t ahead = 0; !IsEndOfIndex(stream_.Peek(ahead)); ++ahead) {
        MDH_RETURN_IF_ERROR(CheckNotReduced(stream_.Peek(ahead)));
      }
      MDH_ASSIGN_OR_RETURN(AffineIndex index, ParseAffine(&stream_, {&sizes_, dimensions_}));
      function.indices.push_back(std::move(index));
      return absl::OkStatus();
    }));
    MDH_RETURN_IF_ERROR(stream_.Expect("]"));
    return function;
  }

  static bool IsEndOfIndex(const Token& token) {
    return token.kind == Token::Kind::kEnd || token.Is(",") || token.Is("]");
  }

  Input& InputOf(const Token& name) {
    const auto known = std::ranges::find_if(
        inputs_, [&](const Input& input) { return input.buffer.name == name.text; });
    if (known != inputs_.end()) return *known;
    inputs_.push_back(
        {{.name = std::string(name.text), .type = type_, .extents = {}, .accesses = {}}, {}});
    return inputs_.back();
  }

  Token ParameterOf(const Token& name, IndexFunction function, Input* input) {
    std::vector<IndexFunction>& accesses = input->buffer.accesses;
    const auto known = std::ranges::find(accesses, function);
    if (known != accesses.end()) return input->parameters[known - accesses.begin()];
    std::string unique(name.text);
    for (size_t n = accesses.size() + 1; n > 1 || used_.count(unique) > 0; ++n) {
      unique = absl::StrCat(name.text, n);
      if (used_.count(unique) == 0) break;
    }
    names_.push_back(std::move(unique));
    used_.insert(names_.back());
    accesses.push_back(std::move(function));
    input->parameters.push_back({Token::Kind::kName, names_.back(), name.offset});
    return input->parameters.back();
  }

  Result<StoreFunction> Typed(std::vector<Token> tokens) {
    const auto token = [](absl::string_view text) { return Token{Token::Kind::kName, text, 0}; };
    std::vector<Token> parameters = {token(kSum)};
    FunctionSignature signature{{ScalarTypePointer(accumulate_)}, {ScalarTypePointer(accumulate_)}};
    std::vector<Buffer> buffers;
    for (Input& input : inputs_) {
      for (const Token& parameter : input.parameters) {
        parameters.push_back(parameter);
        signature.parameters.push_back(ScalarTypePointer(type_));
      }
      buffers.push_back(std::move(input.buffer));
    }
    TokenStream stream(source_, std::move(tokens));
    const FunctionContext context{types_, sizes_, dimensions_};
    MDH_ASSIGN_OR_RETURN(
        const FunctionSyntax syntax,
        ParseValueFunction(token("epilogue"), parameters, token("stored"), &stream, context));
    MDH_ASSIGN_OR_RETURN(TypedFunction typed, TypeFunction(syntax, stream, signature, dimensions_));
    return StoreFunction{.function = std::move(typed.function),
                         .inputs = std::move(buffers),
                         .index_dimensions = std::move(typed.index_dimensions)};
  }

  const Source& source_;
  TokenStream stream_;
  std::vector<std::string> dimensions_;
  const std::vector<bool>& reduced_;
  const ScalarType type_, accumulate_;
  const TypeNames types_ = {};
  const SizeValues sizes_ = {};
  std::deque<Input> inputs_;
  std::deque<std::string> names_;  // of parameters; tokens point to them
  std::set<std::string, std::less<>> used_ = {std::string(kSum), "stored"};
  std::vector<Token> bare_;
};

}  // namespace

Result<StoreFunction> ParseEpilogue(std::string_view text, const std::vector<Dimension>& dimensions,
                                    const std::vector<bool>& reduced, ScalarType type,
                                    ScalarType accumulate) {
  const Source source("<epilogue>", View(text));
  MDH_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return EpilogueParser(source, std::move(tokens), dimensions, reduced, type, accumulate).Run();
}

}  // namespace mdh
