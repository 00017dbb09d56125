// Parsing functions of the scalar language.
#include "core/text/function_syntax.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/identifier.h"

namespace mdh {
namespace {

bool IsLiteralName(const Token& token) {
  return token.Is("true") || token.Is("false") || token.Is("inf") || token.Is("nan");
}

bool IsNumber(const Token& token) {
  return token.kind == Token::Kind::kInteger || token.kind == Token::Kind::kReal ||
         token.Is("inf") || token.Is("nan");
}

std::optional<ScalarOpInfo> InfixOp(const Token& token) {
  if (token.kind != Token::Kind::kSymbol) return std::nullopt;
  for (const ScalarOpInfo& info : AllScalarOps()) {
    if (info.is_infix && token.Is(info.name)) return info;
  }
  return std::nullopt;
}

std::optional<ScalarOpInfo> BuiltIn(absl::string_view name) {
  for (const ScalarOpInfo& info : AllScalarOps()) {
    const bool is_call = !info.is_infix && info.op >= ScalarOp::kAbs;
    if (is_call && info.name == name) return info;
  }
  return std::nullopt;
}

class FunctionParser {
 public:
  FunctionParser(TokenStream* stream, const TypeNames& types) : stream_(*stream), types_(types) {}

  Result<FunctionSyntax> Parse() {
    MDH_ASSIGN_OR_RETURN(function_.name, stream_.ExpectName("the name of a function"));
    MDH_RETURN_IF_ERROR(Parameters());
    MDH_RETURN_IF_ERROR(stream_.Expect("->"));
    MDH_RETURN_IF_ERROR(Results());
    if (stream_.Peek().Is("identity")) MDH_RETURN_IF_ERROR(Identity());
    MDH_RETURN_IF_ERROR(Body());
    return std::move(function_);
  }

 private:
  enum class Meaning { kParameter, kLet, kResult };
  struct Name {
    Meaning meaning;
    int number;  // of the parameter, of the let's node, of the result
  };

  Status Declare(const Token& token, Meaning meaning, int number) {
    if (!IsIdentifier(token.text)) {
      return stream_.ErrorAt(token, absl::StrCat("'", token.text, "' cannot be a name"));
    }
    if (!names_.emplace(token.text, Name{meaning, number}).second) {
      return stream_.ErrorAt(token, absl::StrCat("the name '", token.text, "' is used twice in '",
                                                 function_.name.text, "'"));
    }
    return absl::OkStatus();
  }

  Status Parameters() {
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    if (stream_.Accept(")")) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(const Token token, stream_.ExpectName("the name of a parameter"));
      function_.parameters.push_back(token);
      return Declare(token, Meaning::kParameter, static_cast<int>(function_.parameters.size()) - 1);
    }));
    return stream_.Expect(")");
  }

  Status Results() {
    const auto result = [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(const Token token, stream_.ExpectName("the name of a result"));
      function_.results.push_back(token);
      return Declare(token, Meaning::kResult, static_cast<int>(function_.results.size()) - 1);
    };
    if (stream_.Accept("(")) {
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, result));
      MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    } else {
      MDH_RETURN_IF_ERROR(result());
    }
    function_.result_nodes.assign(function_.results.size(), -1);
    function_.result_tokens = function_.results;
    return absl::OkStatus();
  }

  Status Identity() {
    function_.identity_token = stream_.Next();
    function_.identity.emplace();
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      LiteralSyntax literal;
      literal.is_negative = stream_.Accept("-");
      literal.token = stream_.Peek();
      const bool is_literal = literal.is_negative
                                  ? IsNumber(literal.token)
                                  : IsNumber(literal.token) || IsLiteralName(literal.token);
      if (!is_literal) return stream_.Unexpected("a literal");
      stream_.Next();
      function_.identity->push_back(literal);
      return absl::OkStatus();
    }));
    return stream_.Expect(")");
  }

  Status Body() {
    MDH_RETURN_IF_ERROR(stream_.Expect("{"));
    while (!stream_.Peek().Is("}")) {
      MDH_RETURN_IF_ERROR(Statement());
      if (!stream_.Accept(";")) break;
    }
    if (!stream_.Peek().Is("}")) return stream_.Unexpected("';' or '}'");
    for (size_t r = 0; r < function_.results.size(); ++r) {
      if (function_.result_nodes[r] >= 0) continue;
      return stream_.ErrorAt(stream_.Peek(),
                             absl::StrCat("result '", function_.results[r].text, "' of '",
                                          function_.name.text, "' is not assigned"));
    }
    stream_.Next();
    return absl::OkStatus();
  }

  Status Statement() {
    if (stream_.Accept("let")) {
      MDH_ASSIGN_OR_RETURN(const Token name, stream_.ExpectName("a name"));
      MDH_RETURN_IF_ERROR(stream_.Expect("="));
      MDH_ASSIGN_OR_RETURN(const int node, Ternary());
      function_.lets.push_back({name, node});
      return Declare(name, Meaning::kLet, node);
    }
    MDH_ASSIGN_OR_RETURN(const Token name, stream_.ExpectName("'let', a result or '}'"));
    const auto entry = names_.find(std::string(name.text));
    if (entry == names_.end() || entry->second.meaning != Meaning::kResult) {
      return stream_.ErrorAt(
          name, absl::StrCat("'", name.text, "' is no result of '", function_.name.text, "'; 'let ",
                             name.text, " = ...' makes a new name"));
    }
    const int result = entry->second.number;
    if (function_.result_nodes[result] >= 0) {
      return stream_.ErrorAt(name, absl::StrCat("result '", name.text, "' is assigned twice"));
    }
    MDH_RETURN_IF_ERROR(stream_.Expect("="));
    MDH_ASSIGN_OR_RETURN(function_.result_nodes[result], Ternary());
    function_.result_tokens[result] = name;
    return absl::OkStatus();
  }

  // Expressions return the number of their node.
  Result<int> Ternary() {
    const TokenStream::Nesting nesting(&stream_);
    MDH_RETURN_IF_ERROR(nesting.Check());
    MDH_ASSIGN_OR_RETURN(const int condition, Infix(1));
    const Token token = stream_.Peek();
    if (!stream_.Accept("?")) return condition;
    MDH_ASSIGN_OR_RETURN(const int if_true, Ternary());
    MDH_RETURN_IF_ERROR(stream_.Expect(":"));
    MDH_ASSIGN_OR_RETURN(const int if_false, Ternary());
    return Operation(token, ScalarOp::kSelect, {condition, if_true, if_false});
  }

  Result<int> Infix(int precedence) {
    MDH_ASSIGN_OR_RETURN(int left, Unary());
    for (;;) {
      const Token token = stream_.Peek();
      const std::optional<ScalarOpInfo> info = InfixOp(token);
      if (!info.has_value() || info->precedence < precedence) return left;
      stream_.Next();
      MDH_ASSIGN_OR_RETURN(const int right, Infix(info->precedence + 1));
      MDH_ASSIGN_OR_RETURN(left, Operation(token, info->op, {left, right}));
    }
  }

  Result<int> Unary() {
    const Token token = stream_.Peek();
    if (!token.Is("-") && !token.Is("!")) return Primary();
    const TokenStream::Nesting nesting(&stream_);
    MDH_RETURN_IF_ERROR(nesting.Check());
    stream_.Next();
    if (token.Is("-") && IsNumber(stream_.Peek())) return Literal(/*is_negative=*/true);
    MDH_ASSIGN_OR_RETURN(const int operand, Unary());
    return Operation(token, token.Is("-") ? ScalarOp::kNeg : ScalarOp::kNot, {operand});
  }

  Result<int> Primary() {
    const Token token = stream_.Peek();
    if (IsNumber(token) || IsLiteralName(token)) return Literal(/*is_negative=*/false);
    if (stream_.Accept("(")) {
      MDH_ASSIGN_OR_RETURN(const int node, Ternary());
      MDH_RETURN_IF_ERROR(stream_.Expect(")"));
      return node;
    }
    if (token.kind != Token::Kind::kName) return stream_.Unexpected("a value");
    stream_.Next();
    return stream_.Accept("(") ? Call(token) : Reference(token);
  }

  Result<int> Literal(bool is_negative) {
    ScalarNode node{ScalarNode::Kind::kLiteral, stream_.Next()};
    node.literal = {node.token, is_negative};
    return Append(std::move(node));
  }

  Result<int> Reference(const Token& token) {
    const auto entry = names_.find(std::string(token.text));
    if (entry == names_.end()) {
      std::vector<absl::string_view> known;
      for (const Token& parameter : function_.parameters) known.push_back(parameter.text);
      return stream_.ErrorAt(
          token, absl::StrCat("unknown name '", token.text, "' in '", function_.name.text,
                              "'; its parameters are ",
                              known.empty() ? "none" : absl::StrJoin(known, ", ")));
    }
    if (entry->second.meaning == Meaning::kResult) {
      return stream_.ErrorAt(
          token, absl::StrCat("result '", token.text, "' cannot be read; use 'let' for the value"));
    }
    ScalarNode node{entry->second.meaning == Meaning::kLet ? ScalarNode::Kind::kLet
                                                           : ScalarNode::Kind::kParameter,
                    token};
    node.reference = entry->second.number;
    return Append(std::move(node));
  }

  Result<int> Call(const Token& name) {
    std::vector<int> operands;
    if (!stream_.Accept(")")) {
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
        MDH_ASSIGN_OR_RETURN(const int operand, Ternary());
        operands.push_back(operand);
        return absl::OkStatus();
      }));
      MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    }
    const std::optional<ScalarType> type = TypeNamed(name.text, types_);
    const std::optional<ScalarOpInfo> built_in = BuiltIn(name.text);
    if (!type.has_value() && !built_in.has_value()) {
      return stream_.ErrorAt(name, absl::StrCat("unknown function '", name.text, "'"));
    }
    const size_t expected = type.has_value() ? 1 : static_cast<size_t>(built_in->operands);
    if (operands.size() != expected) {
      return stream_.ErrorAt(name, absl::StrCat("'", name.text, "' takes ", expected,
                                                expected == 1 ? " argument" : " arguments",
                                                ", found ", operands.size()));
    }
    if (built_in.has_value()) return Operation(name, built_in->op, operands);
    ScalarNode node{ScalarNode::Kind::kCast, name};
    node.type = *type;
    node.num_operands = 1;
    node.operands[0] = operands[0];
    return Append(std::move(node));
  }

  Result<int> Operation(const Token& token, ScalarOp op, const std::vector<int>& operands) {
    ScalarNode node{ScalarNode::Kind::kOperation, token};
    node.op = op;
    node.num_operands = static_cast<int>(operands.size());
    std::copy(operands.begin(), operands.end(), node.operands.begin());
    return Append(std::move(node));
  }

  Result<int> Append(ScalarNode node) {
    if (function_.nodes.size() >= 4 * ScalarFunction::kMaxInstructions) {
      return stream_.ErrorAt(
          node.token,
          absl::StrCat("function '", function_.name.text, "' is too long: more than ",
                       4 * ScalarFunction::kMaxInstructions, " names, literals and operations"));
    }
    function_.nodes.push_back(std::move(node));
    return static_cast<int>(function_.nodes.size()) - 1;
  }

  TokenStream& stream_;
  const TypeNames& types_;
  FunctionSyntax function_;
  std::map<std::string, Name, std::less<>> names_;
};

}  // namespace

Result<FunctionSyntax> ParseFunction(TokenStream* stream, const TypeNames& types) {
  return FunctionParser(stream, types).Parse();
}

std::optional<ScalarType> TypeNamed(absl::string_view name, const TypeNames& types) {
  const auto entry = types.find(std::string(name));
  if (entry != types.end()) return entry->second;
  return ScalarTypeFromName(std::string(name));
}

Result<ScalarType> ParseType(TokenStream* stream, const TypeNames& types) {
  MDH_ASSIGN_OR_RETURN(const Token token, stream->ExpectName("a type"));
  const std::optional<ScalarType> type = TypeNamed(token.text, types);
  if (type.has_value()) return *type;
  return stream->ErrorAt(token, absl::StrCat("unknown type '", token.text, "'"));
}

bool IsBuiltInFunction(absl::string_view name) { return BuiltIn(name).has_value(); }

}  // namespace mdh
