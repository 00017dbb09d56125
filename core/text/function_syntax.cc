// Parsing functions of the scalar language.
#include "core/text/function_syntax.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "core/base/identifier.h"
#include "core/expression/expression.h"
#include "core/text/operator_names.h"

namespace mdh {
namespace {

constexpr size_t kMaxNames = 2 * Expression::kMaxAccesses;  // parameters or results

class FunctionParser {
 public:
  FunctionParser(TokenStream* stream, const FunctionContext& context)
      : stream_(*stream),
        types_(context.types),
        sizes_(context.sizes),
        dimensions_(context.dimensions) {}

  Result<FunctionSyntax> Parse() {
    MDH_ASSIGN_OR_RETURN(function_.name, stream_.ExpectName("the name of a function"));
    MDH_RETURN_IF_ERROR(Parameters());
    MDH_RETURN_IF_ERROR(stream_.Expect("->"));
    MDH_RETURN_IF_ERROR(Results());
    if (stream_.Peek().Is("identity")) MDH_RETURN_IF_ERROR(Identity());
    MDH_RETURN_IF_ERROR(Body());
    return std::move(function_);
  }

  Result<FunctionSyntax> ParseValue(const Token& name, const std::vector<Token>& parameters,
                                    const Token& result) {
    function_.name = name;
    function_.parameters = parameters;
    for (size_t n = 0; n < parameters.size(); ++n) {
      MDH_RETURN_IF_ERROR(Declare(parameters[n], Meaning::kParameter, static_cast<int>(n)));
    }
    function_.results.push_back({.name = result});
    MDH_RETURN_IF_ERROR(Declare(result, Meaning::kResult, 0));
    MDH_ASSIGN_OR_RETURN(const int node, Ternary());
    if (stream_.Peek().kind != Token::Kind::kEnd) return stream_.Unexpected("the end of the value");
    function_.assignments.push_back({0, std::nullopt, node, result});
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
      return stream_.ErrorAt(token, "'", token.text, "' cannot be a name");
    }
    if (used_outer_.count(token.text) > 0) {
      return stream_.ErrorAt(token, "'", token.text,
                             "' meant a dimension or size above; choose "
                             "another name");
    }
    if (!names_.emplace(token.text, Name{meaning, number}).second) {
      return stream_.ErrorAt(token, "the name '", token.text, "' is used twice in '",
                             function_.name.text, "'");
    }
    return absl::OkStatus();
  }

  Status Parameters() {
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    if (stream_.Accept(")")) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(const Token token, stream_.ExpectName("the name of a parameter"));
      function_.parameters.push_back(token);
      MDH_RETURN_IF_ERROR(CheckCount(token, "parameters", function_.parameters.size()));
      return Declare(token, Meaning::kParameter, static_cast<int>(function_.parameters.size()) - 1);
    }));
    return stream_.Expect(")");
  }

  Status CheckCount(const Token& at, absl::string_view what, size_t count) const {
    if (count <= kMaxNames) return absl::OkStatus();
    return stream_.ErrorAt(at, "function '", function_.name.text, "' has more than ", kMaxNames,
                           " ", what);
  }

  // name or name: type
  Status OneResult() {
    FunctionSyntax::ResultSyntax result;
    MDH_ASSIGN_OR_RETURN(result.name, stream_.ExpectName("the name of a result"));
    if (stream_.Accept(":")) {
      result.type_token = stream_.Peek();
      MDH_ASSIGN_OR_RETURN(result.type, ParseType(&stream_, types_));
    }
    const int number = static_cast<int>(function_.results.size());
    function_.results.push_back(result);
    MDH_RETURN_IF_ERROR(CheckCount(result.name, "results", function_.results.size()));
    return Declare(result.name, Meaning::kResult, number);
  }

  Status Results() {
    if (!stream_.Accept("(")) return OneResult();
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&] { return OneResult(); }));
    return stream_.Expect(")");
  }

  Status Identity() {
    function_.identity_token = stream_.Next();
    function_.identity.emplace();
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(ConstantSyntax constant, ParseConstant(&stream_));
      function_.identity->push_back(std::move(constant));
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
    for (const FunctionSyntax::ResultSyntax& result : function_.results) {
      const auto first = assigned_.lower_bound({result.name.text, ""});
      if (first != assigned_.end() && first->first == result.name.text) continue;
      return stream_.ErrorAt(stream_.Peek(), "result '", result.name.text, "' of '",
                             function_.name.text, "' is not assigned");
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
      return stream_.ErrorAt(name, "'", name.text, "' is no result of '", function_.name.text,
                             "'; 'let ", name.text, " = ...' makes a new name");
    }
    FunctionSyntax::Assignment assignment{entry->second.number, std::nullopt, -1, name};
    if (stream_.Accept(".")) {
      MDH_ASSIGN_OR_RETURN(assignment.field, stream_.ExpectName("the name of a field"));
    }
    MDH_RETURN_IF_ERROR(CheckAssignedOnce(assignment));
    MDH_RETURN_IF_ERROR(stream_.Expect("="));
    MDH_ASSIGN_OR_RETURN(assignment.node, Ternary());
    function_.assignments.push_back(assignment);
    return absl::OkStatus();
  }

  Status CheckAssignedOnce(const FunctionSyntax::Assignment& assignment) {
    const absl::string_view name = assignment.token.text;
    const absl::string_view field = assignment.field.has_value() ? assignment.field->text : "";
    // The whole sorts before its fields.
    const auto first = assigned_.lower_bound({name, ""});
    const bool has_any = first != assigned_.end() && first->first == name;
    const bool has_whole = has_any && first->second.empty();
    if (has_whole || (has_any && field.empty()) || assigned_.count({name, field}) > 0) {
      return stream_.ErrorAt(assignment.token, "result '", name, field.empty() ? "" : ".", field,
                             "' is assigned twice");
    }
    assigned_.emplace(name, field);
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
      const std::optional<ScalarOpInfo> info = InfixOperator(token);
      if (!info.has_value() || info->precedence < precedence) return left;
      stream_.Next();
      MDH_ASSIGN_OR_RETURN(const int right, Infix(info->precedence + 1));
      MDH_ASSIGN_OR_RETURN(left, Operation(token, info->op, {left, right}));
    }
  }

  Result<int> Unary() {
    const Token token = stream_.Peek();
    if (!token.Is("-") && !token.Is("!")) return Postfix();
    const TokenStream::Nesting nesting(&stream_);
    MDH_RETURN_IF_ERROR(nesting.Check());
    stream_.Next();
    if (token.Is("-") && IsNumber(stream_.Peek())) return Literal(/*is_negative=*/true);
    MDH_ASSIGN_OR_RETURN(const int operand, Unary());
    return Operation(token, token.Is("-") ? ScalarOp::kNeg : ScalarOp::kNot, {operand});
  }

  // value.field, table[index]
  Result<int> Postfix() {
    MDH_ASSIGN_OR_RETURN(int value, Primary());
    for (;;) {
      const Token token = stream_.Peek();
      if (stream_.Accept(".")) {
        MDH_ASSIGN_OR_RETURN(const Token field, stream_.ExpectName("the name of a field"));
        ScalarNode node{ScalarNode::Kind::kField, field};
        node.operands = {value};
        node.names = {field};
        MDH_ASSIGN_OR_RETURN(value, Append(std::move(node)));
      } else if (stream_.Accept("[")) {
        MDH_ASSIGN_OR_RETURN(const int index, Ternary());
        MDH_RETURN_IF_ERROR(stream_.Expect("]"));
        ScalarNode node{ScalarNode::Kind::kElement, token};
        node.operands = {value, index};
        MDH_ASSIGN_OR_RETURN(value, Append(std::move(node)));
      } else {
        return value;
      }
    }
  }

  Result<int> Primary() {
    const Token token = stream_.Peek();
    if (IsLiteral(token)) return Literal(/*is_negative=*/false);
    if (stream_.Accept("(")) {
      MDH_ASSIGN_OR_RETURN(const int node, Ternary());
      MDH_RETURN_IF_ERROR(stream_.Expect(")"));
      return node;
    }
    if (stream_.Accept("[")) return Table(token);
    if (stream_.Accept("{")) return Record(token);
    if (token.kind != Token::Kind::kName) return stream_.Unexpected("a value");
    stream_.Next();
    return stream_.Accept("(") ? Call(token) : Reference(token);
  }

  // [1, 2, 3]
  Result<int> Table(const Token& start) {
    ScalarNode node{ScalarNode::Kind::kTable, start};
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      const Token at = stream_.Peek();
      MDH_ASSIGN_OR_RETURN(const LiteralSyntax literal, ParseLiteral(&stream_));
      node.table.push_back(literal);
      if (node.table.size() <= ScalarFunction::kMaxTableValues) return absl::OkStatus();
      return stream_.ErrorAt(at, "a table of more than ", ScalarFunction::kMaxTableValues,
                             " values");
    }));
    MDH_RETURN_IF_ERROR(stream_.Expect("]"));
    return Append(std::move(node));
  }

  // {x: a + b, n: 1}
  Result<int> Record(const Token& start) {
    ScalarNode node{ScalarNode::Kind::kRecord, start};
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      MDH_ASSIGN_OR_RETURN(const Token name, stream_.ExpectName("the name of a field"));
      MDH_RETURN_IF_ERROR(stream_.Expect(":"));
      MDH_ASSIGN_OR_RETURN(const int operand, Ternary());
      node.names.push_back(name);
      node.operands.push_back(operand);
      if (node.names.size() <= ElementType::kMaxFields) return absl::OkStatus();
      return stream_.ErrorAt(name, "a record of more than ", ElementType::kMaxFields, " fields");
    }));
    MDH_RETURN_IF_ERROR(stream_.Expect("}"));
    return Append(std::move(node));
  }

  Result<int> Literal(bool is_negative) {
    ScalarNode node{ScalarNode::Kind::kLiteral, stream_.Next()};
    node.literal = {node.token, is_negative};
    return Append(std::move(node));
  }

  Result<int> Reference(const Token& token) {
    const auto entry = names_.find(std::string(token.text));
    if (entry == names_.end()) return OuterReference(token);
    if (entry->second.meaning == Meaning::kResult) {
      return stream_.ErrorAt(token, "result '", token.text,
                             "' cannot be read; use 'let' for the value");
    }
    ScalarNode node{entry->second.meaning == Meaning::kLet ? ScalarNode::Kind::kLet
                                                           : ScalarNode::Kind::kParameter,
                    token};
    node.reference = entry->second.number;
    if (node.kind == ScalarNode::Kind::kLet) {
      const ScalarNode& value = function_.nodes[node.reference];
      if (value.kind == ScalarNode::Kind::kLet) node.reference = value.reference;
    }
    return Append(std::move(node));
  }

  // A name that the function itself does not give a meaning.
  Result<int> OuterReference(const Token& token) {
    const auto dimension = std::ranges::find(dimensions_, token.text);
    if (dimension != dimensions_.end()) {
      used_outer_.insert(token.text);
      ScalarNode node{ScalarNode::Kind::kIndex, token};
      node.reference = static_cast<int>(dimension - dimensions_.begin());
      return Append(std::move(node));
    }
    if (const auto size = sizes_.find(std::string(token.text)); size != sizes_.end()) {
      used_outer_.insert(token.text);
      ScalarNode node{ScalarNode::Kind::kLiteral, token};
      node.literal = {token, /*is_negative=*/false, size->second};
      return Append(std::move(node));
    }
    std::vector<absl::string_view> known;
    for (const Token& parameter : function_.parameters) known.push_back(parameter.text);
    return stream_.ErrorAt(token, "unknown name '", token.text, "' in '", function_.name.text,
                           "'; its parameters are ",
                           known.empty() ? "none" : absl::StrJoin(known, ", "));
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
    const TypePointer type = TypeNamed(name.text, types_);
    const std::optional<ScalarOpInfo> built_in = FunctionNamed(name.text);
    if (type == nullptr && !built_in.has_value()) {
      return stream_.ErrorAt(name, "unknown function '", name.text, "'");
    }
    if (type != nullptr && type->is_record()) {
      return stream_.ErrorAt(name,
                             "nothing converts to a record; write the fields, as "
                             "in {",
                             type->fields()[0].name, ": ...}");
    }
    const size_t expected = type != nullptr ? 1 : static_cast<size_t>(built_in->operands);
    if (operands.size() != expected) {
      return stream_.ErrorAt(name, "'", name.text, "' takes ", expected,
                             expected == 1 ? " argument" : " arguments", ", found ",
                             operands.size());
    }
    if (built_in.has_value()) return Operation(name, built_in->op, operands);
    ScalarNode node{ScalarNode::Kind::kCast, name};
    node.type = type->scalar();
    node.operands = std::move(operands);
    return Append(std::move(node));
  }

  Result<int> Operation(const Token& token, ScalarOp op, const std::vector<int>& operands) {
    ScalarNode node{ScalarNode::Kind::kOperation, token};
    node.op = op;
    node.operands = operands;
    return Append(std::move(node));
  }

  Result<int> Append(ScalarNode node) {
    if (function_.nodes.size() >= 4 * ScalarFunction::kMaxInstructions) {
      return stream_.ErrorAt(node.token, "function '", function_.name.text,
                             "' is too long: more than ", 4 * ScalarFunction::kMaxInstructions,
                             " names, literals and operations");
    }
    function_.nodes.push_back(std::move(node));
    return static_cast<int>(function_.nodes.size()) - 1;
  }

  TokenStream& stream_;
  const TypeNames& types_;
  const SizeValues& sizes_;
  const std::vector<std::string>& dimensions_;
  FunctionSyntax function_;
  std::map<std::string, Name, std::less<>> names_;
  std::set<absl::string_view> used_outer_;
  std::set<std::pair<absl::string_view, absl::string_view>> assigned_;  // result, field or ""
};

}  // namespace

Result<FunctionSyntax> ParseFunction(TokenStream* stream, const FunctionContext& context) {
  return FunctionParser(stream, context).Parse();
}

Result<FunctionSyntax> ParseValueFunction(const Token& name, const std::vector<Token>& parameters,
                                          const Token& result, TokenStream* stream,
                                          const FunctionContext& context) {
  return FunctionParser(stream, context).ParseValue(name, parameters, result);
}

}  // namespace mdh
