// From a definition's syntax to an expression.
#include "core/text/parser.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/expression_place.h"
#include "core/text/definition_syntax.h"
#include "core/text/function_typing.h"
#include "core/text/header_parser.h"
#include "core/text/source.h"

namespace mdh {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::vector<ScalarType> AccessTypes(const std::vector<Buffer>& buffers) {
  std::vector<ScalarType> types;
  for (const Buffer& buffer : buffers) {
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      for (const ElementType::Field& field : buffer.type.fields()) types.push_back(field.type);
    }
  }
  return types;
}

class Instantiation {
 public:
  Instantiation(const DefinitionSyntax& syntax, const TokenStream& stream)
      : syntax_(syntax), stream_(stream) {}

  Result<Expression> Run() {
    results_ = AccessTypes(syntax_.outputs.buffers);
    MDH_ASSIGN_OR_RETURN(ScalarFunction function, Function());
    MDH_ASSIGN_OR_RETURN(std::vector<CombineOperator> operators, CombineOperators());
    for (const FunctionSyntax& other : syntax_.functions) {
      if (used_.count(other.name.offset) > 0) continue;
      return stream_.ErrorAt(other.name,
                             absl::StrCat("function '", other.name.text, "' is not used"));
    }
    Result<Expression> expression = Expression::Create({.name = std::string(syntax_.name.text),
                                                        .dimensions = syntax_.dimensions,
                                                        .inputs = syntax_.inputs.buffers,
                                                        .outputs = syntax_.outputs.buffers,
                                                        .function = std::move(function),
                                                        .combine_operators = std::move(operators)});
    if (expression.ok()) return expression;
    const Status& status = expression.status();
    return stream_.ErrorAt(TokenOf(PlaceOf(status)), status.message(), status.code());
  }

 private:
  Result<const FunctionSyntax*> Find(const Token& name) {
    for (const FunctionSyntax& function : syntax_.functions) {
      if (!function.name.Is(name.text)) continue;
      used_.insert(function.name.offset);
      return &function;
    }
    return stream_.ErrorAt(name, absl::StrCat("unknown function '", name.text,
                                              "'; the where part does not define it"));
  }

  Status CheckCount(const FunctionSyntax& function, absl::string_view what, size_t found,
                    size_t expected, absl::string_view reason) const {
    if (found == expected) return absl::OkStatus();
    return stream_.ErrorAt(
        function.name, absl::StrCat("function '", function.name.text, "' has ", found, " ", what,
                                    ", expected ", expected, ": ", reason));
  }

  // f of md_hom.
  Result<ScalarFunction> Function() {
    MDH_ASSIGN_OR_RETURN(const FunctionSyntax* function, Find(syntax_.function));
    const std::vector<ScalarType> parameters = AccessTypes(syntax_.inputs.buffers);
    MDH_RETURN_IF_ERROR(CheckCount(*function, "parameters", function->parameters.size(),
                                   parameters.size(), "one for each access of inp_view"));
    MDH_RETURN_IF_ERROR(CheckCount(*function, "results", function->results.size(), results_.size(),
                                   "one for each access of out_view"));
    return TypeFunction(*function, stream_, parameters, results_);
  }

  Result<std::vector<CombineOperator>> CombineOperators() {
    std::vector<CombineOperator> operators;
    for (const CombineOperatorSyntax& syntax : syntax_.combine_operators) {
      MDH_ASSIGN_OR_RETURN(CombineOperator combine, OneCombineOperator(syntax));
      operators.push_back(std::move(combine));
    }
    // An identity that no reduction uses is a mistake.
    for (const FunctionSyntax& function : syntax_.functions) {
      if (!function.identity.has_value() || reductions_.count(function.name.offset) > 0) continue;
      return stream_.ErrorAt(function.identity_token,
                             absl::StrCat("function '", function.name.text,
                                          "' has an identity but is no combine operator"));
    }
    return operators;
  }

  Result<CombineOperator> OneCombineOperator(const CombineOperatorSyntax& syntax) {
    if (syntax.is_concat) return CombineOperator::Concat();
    Result<CombineOperator> combine = syntax.kind.has_value()
                                          ? CombineOperator::PointWise(*syntax.kind, results_)
                                          : CustomOperator(syntax.token);
    if (combine.ok() || !syntax.kind.has_value()) return combine;
    return stream_.ErrorAt(syntax.token, combine.status().message());
  }

  Result<CombineOperator> CustomOperator(const Token& name) {
    MDH_ASSIGN_OR_RETURN(const FunctionSyntax* syntax, Find(name));
    reductions_.insert(syntax->name.offset);
    std::vector<ScalarType> parameters = results_;
    parameters.insert(parameters.end(), results_.begin(), results_.end());
    MDH_RETURN_IF_ERROR(CheckCount(*syntax, "parameters", syntax->parameters.size(),
                                   parameters.size(), "it combines two values of each result"));
    MDH_RETURN_IF_ERROR(CheckCount(*syntax, "results", syntax->results.size(), results_.size(),
                                   "one for each access of out_view"));
    MDH_ASSIGN_OR_RETURN(ScalarFunction function,
                         TypeFunction(*syntax, stream_, parameters, results_));
    std::optional<std::vector<ScalarValue>> identity;
    if (syntax->identity.has_value()) {
      MDH_RETURN_IF_ERROR(CheckCount(*syntax, "identity values", syntax->identity->size(),
                                     results_.size(), "one for each result"));
      identity.emplace();
      for (size_t r = 0; r < results_.size(); ++r) {
        MDH_ASSIGN_OR_RETURN(const ScalarValue value,
                             TypeLiteral((*syntax->identity)[r], results_[r], stream_));
        identity->push_back(value);
      }
    }
    Result<CombineOperator> combine =
        CombineOperator::PointWise(std::move(function), std::move(identity));
    if (!combine.ok()) return stream_.ErrorAt(syntax->name, combine.status().message());
    return combine;
  }

  Token TokenOf(const std::optional<ExpressionPlace>& place) const {
    if (!place.has_value()) return syntax_.name;
    switch (place->kind) {
      case ExpressionPlace::Kind::kDimension:
        return syntax_.size_tokens[place->number];
      case ExpressionPlace::Kind::kFunction:
        return syntax_.function;
      case ExpressionPlace::Kind::kCombineOperator:
        return syntax_.combine_operators[place->number].token;
      default:
        break;
    }
    const ViewSyntax& view =
        place->kind == ExpressionPlace::Kind::kInput ? syntax_.inputs : syntax_.outputs;
    const BufferTokens& buffer = view.tokens[place->number];
    if (place->access < 0) return buffer.name;
    const BufferTokens::Access& access = buffer.accesses[place->access];
    return place->index < 0 ? access.start : access.indices[place->index];
  }

  const DefinitionSyntax& syntax_;
  const TokenStream& stream_;
  std::vector<ScalarType> results_;  // of md_hom
  // Functions by the offset of their name.
  std::set<size_t> used_;
  std::set<size_t> reductions_;
};

}  // namespace

Result<Expression> ParseExpression(std::string_view text, const Bindings& bindings,
                                   std::string_view source_name) {
  const Source source(View(source_name), View(text));
  MDH_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  TokenStream stream(source, std::move(tokens));
  MDH_ASSIGN_OR_RETURN(const DefinitionSyntax syntax, ParseDefinition(&stream, bindings));
  return Instantiation(syntax, stream).Run();
}

Result<DefinitionHeader> ParseHeader(std::string_view text, std::string_view source_name) {
  const Source source(View(source_name), View(text));
  MDH_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  TokenStream stream(source, std::move(tokens));
  MDH_ASSIGN_OR_RETURN(const HeaderSyntax syntax, ParseHeaderSyntax(&stream));
  DefinitionHeader header{std::string(syntax.name.text), {}};
  for (const ParameterSyntax& parameter : syntax.parameters) {
    std::string value;
    if (parameter.default_end > parameter.default_begin) {
      stream.Seek(parameter.default_begin);
      const size_t begin = stream.Peek().offset;
      stream.Seek(parameter.default_end - 1);
      const size_t end = stream.Peek().offset + stream.Peek().text.size();
      value = std::string(source.text().substr(begin, end - begin));
    }
    header.parameters.push_back(
        {std::string(parameter.name.text), parameter.is_type, std::move(value)});
  }
  return header;
}

}  // namespace mdh
