// From a definition's syntax to an expression.
#include "core/text/parser.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/expression/expression_place.h"
#include "core/text/definition_parser.h"
#include "core/text/definition_syntax.h"
#include "core/text/function_typing.h"

namespace mdh {
namespace {

// One type per access.
std::vector<TypePointer> AccessTypes(const ViewSyntax& view) {
  std::vector<TypePointer> types;
  for (size_t b = 0; b < view.buffers.size(); ++b) {
    types.insert(types.end(), view.buffers[b].accesses.size(), view.types[b]);
  }
  return types;
}

// Whether values of type `from` can be stored as `to`: numbers as numbers, bool as bool, records as
// records with the same fields.
bool CanBeStored(const ElementType& from, const ElementType& to) {
  return std::ranges::equal(
      from.fields(), to.fields(), [](const ElementType::Field& x, const ElementType::Field& y) {
        return x.name == y.name && (x.type == ScalarType::kBool) == (y.type == ScalarType::kBool);
      });
}

class Instantiation {
 public:
  Instantiation(const DefinitionSyntax& syntax, const TokenStream& stream)
      : syntax_(syntax), stream_(stream) {}

  Result<Expression> Run() {
    MDH_ASSIGN_OR_RETURN(TypedFunction f, Function());
    MDH_ASSIGN_OR_RETURN(std::vector<CombineOperator> operators, CombineOperators());
    MDH_ASSIGN_OR_RETURN(std::optional<StoreFunction> store, Store());
    for (const FunctionSyntax& other : syntax_.functions) {
      if (used_.count(other.name.offset) > 0) continue;
      return stream_.ErrorAt(other.name, "function '", other.name.text, "' is not used");
    }
    Result<Expression> expression =
        Expression::Create({.name = std::string(syntax_.name.text),
                            .dimensions = syntax_.dimensions,
                            .inputs = syntax_.inputs.buffers,
                            .outputs = syntax_.outputs.buffers,
                            .function = std::move(f.function),
                            .combine_operators = std::move(operators),
                            .index_dimensions = std::move(f.index_dimensions),
                            .store = std::move(store)});
    if (expression.ok()) return expression;
    const Status& status = expression.status();
    return stream_.ErrorOfCode(status.code(), TokenOf(PlaceOf(status)), status.message());
  }

 private:
  Result<const FunctionSyntax*> Find(const Token& name) {
    for (const FunctionSyntax& function : syntax_.functions) {
      if (!function.name.Is(name.text)) continue;
      used_.insert(function.name.offset);
      return &function;
    }
    return stream_.ErrorAt(name, "unknown function '", name.text,
                           "'; the where part does not define it");
  }

  Status CheckCount(const FunctionSyntax& function, absl::string_view what, size_t found,
                    size_t expected, absl::string_view reason) const {
    if (found == expected) return absl::OkStatus();
    return stream_.ErrorAt(function.name, "function '", function.name.text, "' has ", found, " ",
                           what, ", expected ", expected, ": ", reason);
  }

  // f of md_hom.
  Result<TypedFunction> Function() {
    MDH_ASSIGN_OR_RETURN(const FunctionSyntax* function, Find(syntax_.function));
    const std::vector<TypePointer> parameters = AccessTypes(syntax_.inputs);
    MDH_RETURN_IF_ERROR(CheckCount(*function, "parameters", function->parameters.size(),
                                   parameters.size(), "one for each access of inp_view"));
    if (syntax_.store.has_value()) {
      MDH_ASSIGN_OR_RETURN(results_, ResultsToFinish(*function));
    } else {
      MDH_ASSIGN_OR_RETURN(results_, StoredResults(*function));
    }
    return TypeFunction(*function, stream_, {parameters, results_}, DimensionNames());
  }

  // Types of the results of a function that are stored: those written, or those of the outputs.
  Result<std::vector<TypePointer>> StoredResults(const FunctionSyntax& function) const {
    std::vector<TypePointer> types = AccessTypes(syntax_.outputs);
    MDH_RETURN_IF_ERROR(CheckCount(function, "results", function.results.size(), types.size(),
                                   "one for each access of out_view"));
    for (size_t r = 0; r < types.size(); ++r) {
      const FunctionSyntax::ResultSyntax& result = function.results[r];
      if (result.type == nullptr) continue;
      if (!CanBeStored(*result.type, *types[r])) {
        return stream_.ErrorAt(result.type_token, "result '", result.name.text, "' of type ",
                               TypeText(*result.type), " cannot be stored as ", TypeText(*types[r]),
                               "; both must be numbers, or bool, or records with the same fields");
      }
      types[r] = result.type;
    }
    return types;
  }

  // Types of the results that a store function takes: those written, or those of the outputs at
  // their places.
  Result<std::vector<TypePointer>> ResultsToFinish(const FunctionSyntax& function) const {
    const std::vector<TypePointer> outputs = AccessTypes(syntax_.outputs);
    std::vector<TypePointer> types;
    for (const FunctionSyntax::ResultSyntax& result : function.results) {
      if (result.type == nullptr && types.size() >= outputs.size()) {
        return stream_.ErrorAt(result.name, "the type of result '", result.name.text, "' of '",
                               function.name.text,
                               "' is not known, as no output stands in "
                               "its place; write it behind the name, as in (",
                               result.name.text, ": fp32)");
      }
      types.push_back(result.type != nullptr ? result.type : outputs[types.size()]);
    }
    return types;
  }

  Result<std::optional<StoreFunction>> Store() {
    if (!syntax_.store.has_value()) return std::optional<StoreFunction>();
    MDH_ASSIGN_OR_RETURN(const FunctionSyntax* function, Find(syntax_.store->function));
    std::vector<TypePointer> parameters = results_;
    const std::vector<TypePointer> read = AccessTypes(syntax_.store->inputs);
    parameters.insert(parameters.end(), read.begin(), read.end());
    MDH_RETURN_IF_ERROR(CheckCount(*function, "parameters", function->parameters.size(),
                                   parameters.size(),
                                   absl::StrCat("one for each result of '", syntax_.function.text,
                                                "', then one for each "
                                                "access of 'store ",
                                                function->name.text, "'")));
    MDH_ASSIGN_OR_RETURN(const std::vector<TypePointer> stored, StoredResults(*function));
    MDH_ASSIGN_OR_RETURN(TypedFunction typed,
                         TypeFunction(*function, stream_, {parameters, stored}, DimensionNames()));
    return std::optional<StoreFunction>({.function = std::move(typed.function),
                                         .inputs = syntax_.store->inputs.buffers,
                                         .index_dimensions = std::move(typed.index_dimensions)});
  }

  std::vector<std::string> DimensionNames() const {
    std::vector<std::string> names;
    for (const Dimension& dimension : syntax_.dimensions) names.push_back(dimension.name);
    return names;
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
      return stream_.ErrorAt(function.identity_token, "function '", function.name.text,
                             "' has an identity but is no combine operator");
    }
    return operators;
  }

  Result<CombineOperator> OneCombineOperator(const CombineOperatorSyntax& syntax) {
    if (syntax.is_concat) return CombineOperator::Concat();
    Result<CombineOperator> combine =
        syntax.kinds.empty() ? CustomOperator(syntax.token) : NamedOperator(syntax);
    return combine.ok() && syntax.is_prefix_sum ? combine->AsPrefixSum() : combine;
  }

  // One operation for everything, one per result, or one per field of every result.
  Result<CombineOperator> NamedOperator(const CombineOperatorSyntax& syntax) const {
    std::vector<PointWiseKind> per_field;
    std::vector<ScalarType> types;
    const bool is_per_result = syntax.kinds.size() == results_.size();
    for (size_t r = 0; r < results_.size(); ++r) {
      for (const ElementType::Field& field : results_[r]->fields()) {
        types.push_back(field.type);
        per_field.push_back(syntax.kinds[is_per_result ? r : 0]);
      }
    }
    if (syntax.is_tuple && !is_per_result) {
      if (syntax.kinds.size() != types.size()) {
        return stream_.ErrorAt(
            syntax.token, syntax.kinds.size(), " operations for ", results_.size(), " results",
            types.size() > results_.size() ? absl::StrCat(" with ", types.size(), " fields") : "",
            "; give one for each");
      }
      per_field = syntax.kinds;
    }
    Result<CombineOperator> combine = CombineOperator::PointWise(per_field, types);
    if (combine.ok()) return combine;
    return stream_.ErrorAt(syntax.token, combine.status().message());
  }

  Result<CombineOperator> CustomOperator(const Token& name) {
    MDH_ASSIGN_OR_RETURN(const FunctionSyntax* syntax, Find(name));
    reductions_.insert(syntax->name.offset);
    std::vector<TypePointer> parameters = results_;
    parameters.insert(parameters.end(), results_.begin(), results_.end());
    MDH_RETURN_IF_ERROR(CheckCount(*syntax, "parameters", syntax->parameters.size(),
                                   parameters.size(), "it combines two values of each result"));
    MDH_RETURN_IF_ERROR(CheckCount(*syntax, "results", syntax->results.size(), results_.size(),
                                   "one for each result that it combines"));
    for (size_t r = 0; r < results_.size(); ++r) {
      const FunctionSyntax::ResultSyntax& result = syntax->results[r];
      if (result.type == nullptr || *result.type == *results_[r]) continue;
      return stream_.ErrorAt(result.type_token, "combine operator '", name.text,
                             "' combines values of type ", TypeText(*results_[r]), ", as '",
                             syntax_.function.text, "' gives them");
    }
    MDH_ASSIGN_OR_RETURN(TypedFunction typed,
                         TypeFunction(*syntax, stream_, {parameters, results_}, {}));
    MDH_ASSIGN_OR_RETURN(std::optional<std::vector<ScalarValue>> identity, Identity(*syntax));
    Result<CombineOperator> combine =
        CombineOperator::PointWise(std::move(typed.function), std::move(identity));
    if (!combine.ok()) return stream_.ErrorAt(syntax->name, combine.status().message());
    return combine;
  }

  Result<std::optional<std::vector<ScalarValue>>> Identity(const FunctionSyntax& syntax) const {
    if (!syntax.identity.has_value()) return std::optional<std::vector<ScalarValue>>();
    MDH_RETURN_IF_ERROR(CheckCount(syntax, "identity values", syntax.identity->size(),
                                   results_.size(), "one for each result"));
    std::vector<ScalarValue> identity;
    for (size_t r = 0; r < results_.size(); ++r) {
      MDH_ASSIGN_OR_RETURN(const std::vector<ScalarValue> values,
                           TypeConstant((*syntax.identity)[r], *results_[r], stream_));
      identity.insert(identity.end(), values.begin(), values.end());
    }
    return std::optional<std::vector<ScalarValue>>(std::move(identity));
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
      case ExpressionPlace::Kind::kStoreFunction:
        return syntax_.store->function;
      case ExpressionPlace::Kind::kInput:
        return TokenOf(*place, syntax_.inputs);
      case ExpressionPlace::Kind::kOutput:
        return TokenOf(*place, syntax_.outputs);
      case ExpressionPlace::Kind::kStoreInput:
        return TokenOf(*place, syntax_.store->inputs);
    }
    return syntax_.name;
  }

  static Token TokenOf(const ExpressionPlace& place, const ViewSyntax& view) {
    const BufferTokens& buffer = view.tokens[place.number];
    if (place.access < 0) return buffer.name;
    const BufferTokens::Access& access = buffer.accesses[place.access];
    return place.index < 0 ? access.start : access.indices[place.index];
  }

  const DefinitionSyntax& syntax_;
  const TokenStream& stream_;
  std::vector<TypePointer> results_;  // of md_hom, in which they are combined
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
  if (stream.Peek().kind != Token::Kind::kEnd) return stream.Unexpected("the end of the text");
  return Instantiation(syntax, stream).Run();
}

Result<Expression> ParseNextExpression(TokenStream* stream, const Bindings& bindings) {
  MDH_ASSIGN_OR_RETURN(const DefinitionSyntax syntax, ParseDefinition(stream, bindings));
  return Instantiation(syntax, *stream).Run();
}

}  // namespace mdh
