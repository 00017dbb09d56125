// Recursive descent over TeML; sizes are evaluated on the way.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/expression/expression.h"
#include "core/teml/syntax.h"
#include "core/teml/term_parser.h"
#include "core/text/affine_parser.h"

namespace mdh {
namespace {

constexpr size_t kMaxStatements = 1024;
constexpr absl::string_view kTypeName = "type";

// One row per loop expression: what it takes.
struct LoopFunctionInfo {
  LoopFunction function;
  absl::string_view name;
  int names, numbers;
  absl::string_view usage;
};

constexpr LoopFunctionInfo kLoopFunctions[] = {
    {LoopFunction::kBuild, "build", 1, 0, "build(t)"},
    {LoopFunction::kStripmine, "stripmine", 1, 2, "stripmine(l, r, v)"},
    {LoopFunction::kInterchange, "interchange", 1, 2, "interchange(l, r1, r2)"},
    {LoopFunction::kFuseOuter, "fuse_outer", 2, 1, "fuse_outer(l1, l2, r)"},
    {LoopFunction::kFuseInner, "fuse_inner", 1, 1, "fuse_inner(l, r)"},
    {LoopFunction::kUnroll, "unroll", 1, 1, "unroll(l, r)"},
    {LoopFunction::kParallelize, "parallelize", 1, 1, "parallelize(l, r)"},
    {LoopFunction::kVectorize, "vectorize", 1, 1, "vectorize(l, r)"},
    {LoopFunction::kStripmineN, "stripmine_n", 1, 2, "stripmine_n(l, n, v)"},
    {LoopFunction::kInterchangeN, "interchange_n", 1, 2, "interchange_n(l, r, n)"},
    {LoopFunction::kTile, "tile", 1, 1, "tile(l, v)"},
};

class TemlParser : private TermParser {
 public:
  TemlParser(TokenStream* stream, const Bindings& bindings)
      : TermParser(stream), bindings_(bindings) {}

  Result<TemlSyntax> Run() {
    const Token first = stream_.Peek();
    for (const auto& [name, value] : bindings_) {
      int64_t size = 0;
      if (absl::SimpleAtoi(value, &size)) sizes_[name] = size;
    }
    MDH_RETURN_IF_ERROR(BindType(first));
    CollectNames();
    while (stream_.Peek().kind != Token::Kind::kEnd) {
      if (syntax_.statements.size() == kMaxStatements) {
        return stream_.ErrorAt(stream_.Peek(), "more than ", kMaxStatements, " statements");
      }
      MDH_RETURN_IF_ERROR(ParseStatement());
      stream_.Accept(";");
    }
    MDH_RETURN_IF_ERROR(CheckBindings(first));
    return std::move(syntax_);
  }

 private:
  void CollectNames() {
    const size_t begin = stream_.position();
    for (; stream_.Peek().kind != Token::Kind::kEnd; stream_.Next()) {
      if (stream_.Peek().kind == Token::Kind::kName) {
        syntax_.names.insert(std::string(stream_.Peek().text));
      }
    }
    stream_.Seek(begin);
  }

  Status BindType(const Token& at) {
    const auto bound = bindings_.find(std::string(kTypeName));
    if (bound == bindings_.end()) return absl::OkStatus();
    const std::optional<ScalarType> type = ScalarTypeFromName(bound->second);
    if (!type.has_value()) {
      return stream_.ErrorAt(at, "the value '", bound->second,
                             "' of 'type' is no scalar type; there are fp64, "
                             "fp32, int32, ...");
    }
    type_ = *type;
    return absl::OkStatus();
  }

  Status CheckBindings(const Token& at) const {
    for (const auto& [name, value] : bindings_) {
      if (name == kTypeName || known_sizes_.count(name) > 0) continue;
      return stream_.ErrorAt(at, "the program has no size '", name, "'; it has ",
                             known_sizes_.empty() ? "none" : absl::StrJoin(known_sizes_, ", "),
                             ", and 'type'");
    }
    return absl::OkStatus();
  }

  Status ParseStatement() {
    MDH_ASSIGN_OR_RETURN(const Token name,
                         stream_.ExpectName("a statement: NAME = EXPRESSION, init(...) or "
                                            "codegen(...)"));
    if (stream_.Peek().Is("(")) return ParseCall(name);
    usage_ = "NAME = EXPRESSION";
    if (stream_.Peek().Is(":=") || stream_.Peek().Is("<")) {
      return stream_.ErrorAt(stream_.Peek(),
                             "definitions with '<' and ':=' are those of .mdh files; TeML assigns "
                             "with '='");
    }
    MDH_RETURN_IF_ERROR(Expect("="));
    if (IsSizeNext()) return ParseSizeStatement(name);
    AssignmentSyntax assignment{name, std::nullopt, {}, TensorSyntax{}};
    if (stream_.Accept("@")) {
      usage_ = "NAME = @TENSOR: EXPRESSION";
      MDH_ASSIGN_OR_RETURN(assignment.target, ExpectName("the name of a tensor"));
      MDH_RETURN_IF_ERROR(Expect(":"));
    }
    MDH_ASSIGN_OR_RETURN(assignment.function, ExpectName("an expression"));
    MDH_ASSIGN_OR_RETURN(assignment.right, ParseRightSide(assignment.function));
    syntax_.statements.push_back(std::move(assignment));
    return absl::OkStatus();
  }

  // N = 250, M = N + 1, type = fp32: what is no call.
  bool IsSizeNext() const {
    const Token& next = stream_.Peek();
    if (next.kind == Token::Kind::kName) return !stream_.Peek(1).Is("(");
    return next.kind == Token::Kind::kInteger || next.Is("(") || next.Is("-");
  }

  Status ParseSizeStatement(const Token& name) {
    const std::string text(name.text);
    if (name.Is(kTypeName)) {
      const Token value = stream_.Next();
      const std::optional<ScalarType> type = ScalarTypeFromName(std::string(value.text));
      if (!type.has_value()) {
        return stream_.ErrorAt(value, "'", value.text,
                               "' is no scalar type; write type = fp64, fp32, "
                               "int32, ...");
      }
      if (bindings_.count(text) == 0) type_ = *type;
      return absl::OkStatus();
    }
    if (!known_sizes_.insert(text).second) {
      return stream_.ErrorAt(name, "the size '", text, "' has a value already; sizes have one");
    }
    MDH_ASSIGN_OR_RETURN(const int64_t value, ParseSize(&stream_, sizes_));
    const auto bound = bindings_.find(text);
    if (bound == bindings_.end()) {
      sizes_[text] = value;
    } else if (int64_t given = 0; !absl::SimpleAtoi(bound->second, &given)) {
      return stream_.ErrorAt(name, "the value '", bound->second, "' of '", text,
                             "' is no 64-bit integer");
    }
    return absl::OkStatus();
  }

  Status ParseCall(const Token& name) {
    if (name.Is("codegen")) {
      usage_ = "codegen(l1, l2)";
      CodegenSyntax codegen;
      MDH_RETURN_IF_ERROR(Expect("("));
      MDH_ASSIGN_OR_RETURN(codegen.names, ParseNames("a loop"));
      MDH_RETURN_IF_ERROR(Expect(")"));
      syntax_.statements.push_back(std::move(codegen));
      return absl::OkStatus();
    }
    if (name.Is("init")) {
      usage_ = "init(t, 0.5)";
      InitSyntax init;
      MDH_RETURN_IF_ERROR(Expect("("));
      MDH_ASSIGN_OR_RETURN(init.name, ExpectName("a tensor"));
      MDH_RETURN_IF_ERROR(Expect(","));
      MDH_ASSIGN_OR_RETURN(init.value, ParseLiteral(&stream_));
      MDH_RETURN_IF_ERROR(Expect(")"));
      syntax_.statements.push_back(std::move(init));
      return absl::OkStatus();
    }
    return stream_.ErrorAt(name, "the value of '", name.text,
                           "(...)' has no name; write NAME = ", name.text,
                           "(...), or init(...) or codegen(...)");
  }

  Result<RightSideSyntax> ParseRightSide(const Token& function) {
    if (function.Is("tensor") || function.Is("scalar")) return ParseTensor(function);
    if (function.Is("eq")) return ParseEq();
    absl::string_view name = function.text;
    const bool is_virtual = absl::ConsumePrefix(&name, "v") && name != "ectorize";
    if (!is_virtual) name = function.text;
    if (name == "transpose") return ParseTranspose(is_virtual);
    if (name == "contract") return ParseContract(is_virtual);
    if (name == "outerproduct") return ParseOuterProduct(is_virtual);
    if (const TemlOperation* operation = OperationNamed(name)) {
      return ParseOperation(function, operation, is_virtual);
    }
    absl::string_view entrywise = name;
    if (absl::ConsumePrefix(&entrywise, "entrywise_")) {
      if (const TemlOperation* operation = OperationNamed(entrywise)) {
        return ParseEntrywise(function, operation, is_virtual);
      }
    }
    for (const LoopFunctionInfo& info : kLoopFunctions) {
      if (info.name == function.text) return ParseLoop(info);
    }
    return stream_.ErrorAt(
        function,

        "TeML has no expression '", function.text,
        "'; tensors are made by tensor, scalar, eq, transpose, contract, "
        "outerproduct, OP and entrywise_OP, where OP is ",
        NamesOfOperations(), ", with a v before those that are not stored; loops by ",
        absl::StrJoin(kLoopFunctions, ", ", [](std::string* out, const LoopFunctionInfo& info) {
          absl::StrAppend(out, info.name);
        }));
  }

  Result<RightSideSyntax> ParseTensor(const Token& function) {
    TensorSyntax tensor{type_, function.Is("scalar"), {}};
    usage_ = tensor.is_scalar ? "scalar()" : "tensor([N, M])";
    MDH_RETURN_IF_ERROR(Expect("("));
    if (stream_.Peek().kind == Token::Kind::kName) {
      const Token name = stream_.Next();
      const std::optional<ScalarType> type = ScalarTypeFromName(std::string(name.text));
      if (!type.has_value()) {
        return stream_.ErrorAt(name, "'", name.text, "' is no scalar type; write ", usage_,
                               ", or a type as fp32 before the shape");
      }
      tensor.type = *type;
      if (!tensor.is_scalar) MDH_RETURN_IF_ERROR(Expect(","));
    }
    if (!tensor.is_scalar) {
      MDH_RETURN_IF_ERROR(Expect("["));
      MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
        const Token token = stream_.Peek();
        if (tensor.shape.size() == Expression::kMaxDimensions) {
          return stream_.ErrorAt(token, "more than ", Expression::kMaxDimensions, " dimensions");
        }
        MDH_ASSIGN_OR_RETURN(const int64_t extent, ParseExtent());
        tensor.shape.push_back(extent);
        return absl::OkStatus();
      }));
      MDH_RETURN_IF_ERROR(Expect("]"));
    }
    MDH_RETURN_IF_ERROR(Expect(")"));
    return tensor;
  }

  // eq(t, [i] -> [i])
  Result<RightSideSyntax> ParseEq() {
    usage_ = "eq(t, [i, j] -> [j, i])";
    EqSyntax eq;
    MDH_RETURN_IF_ERROR(Expect("("));
    MDH_ASSIGN_OR_RETURN(eq.operand, ExpectName("a tensor"));
    MDH_RETURN_IF_ERROR(Expect(","));
    if (!stream_.Peek().Is("->")) {
      MDH_ASSIGN_OR_RETURN(eq.from, ParseIterators());
    }
    MDH_RETURN_IF_ERROR(Expect("->"));
    MDH_ASSIGN_OR_RETURN(eq.to, ParseIterators());
    MDH_RETURN_IF_ERROR(Expect(")"));
    return eq;
  }

  Result<RightSideSyntax> ParseOperation(const Token& function, const TemlOperation* operation,
                                         bool is_virtual) {
    usage_ =
        operation->is_unary
            ? absl::StrCat(function.text, "(t, [[i, j]]", is_virtual ? ")" : " -> [i, j])")
            : absl::StrCat(function.text, "(t, u, [[i, j], [j]]", is_virtual ? ")" : " -> [i, j])");
    OperationSyntax syntax{operation, {}, {}, std::nullopt};
    MDH_RETURN_IF_ERROR(Expect("("));
    while (stream_.Peek().kind == Token::Kind::kName && syntax.operands.size() < kMaxOperands) {
      syntax.operands.push_back(stream_.Next());
      MDH_RETURN_IF_ERROR(Expect(","));
    }
    const Token lists = stream_.Peek();
    MDH_RETURN_IF_ERROR(Expect("["));
    do {
      std::optional<IteratorsSyntax> list;
      if (stream_.Peek().Is("[")) {
        MDH_ASSIGN_OR_RETURN(list, ParseIterators());
      }
      syntax.lists.push_back(std::move(list));
    } while (stream_.Accept(","));
    MDH_RETURN_IF_ERROR(Expect("]"));
    MDH_RETURN_IF_ERROR(CheckOperands(function, operation, syntax.operands));
    if (syntax.lists.size() != syntax.operands.size()) {
      return stream_.ErrorAt(lists, "there are ", syntax.operands.size(), " operands, but ",
                             syntax.lists.size(),
                             " lists of iterators: write one for each, or "
                             "nothing between the commas where the operand has iterators, as in ",
                             usage_);
    }
    if (!is_virtual) {
      MDH_RETURN_IF_ERROR(Expect("->"));
      MDH_ASSIGN_OR_RETURN(syntax.to, ParseIterators());
    } else if (stream_.Peek().Is("->")) {
      return stream_.ErrorAt(stream_.Peek(), "'", function.text,
                             "' stores nothing (15), so it has no "
                             "list behind '->'; write ",
                             function.text.substr(1), "(... -> ...)");
    }
    MDH_RETURN_IF_ERROR(Expect(")"));
    return syntax;
  }

  Status CheckOperands(const Token& function, const TemlOperation* operation,
                       const std::vector<Token>& operands) const {
    const bool fits = operation->is_unary ? operands.size() == 1 : operands.size() >= 2;
    if (fits) return absl::OkStatus();
    return stream_.ErrorAt(function, "'", function.text, "' takes ",
                           operation->is_unary ? "one operand" : "two operands or more", ", not ",
                           operands.size(), ": ", usage_);
  }

  Result<RightSideSyntax> ParseEntrywise(const Token& function, const TemlOperation* operation,
                                         bool is_virtual) {
    usage_ = absl::StrCat(function.text, operation->is_unary ? "(t)" : "(t, u)");
    EntrywiseSyntax syntax{operation, is_virtual, {}};
    MDH_RETURN_IF_ERROR(Expect("("));
    MDH_ASSIGN_OR_RETURN(syntax.operands, ParseNames("a tensor"));
    MDH_RETURN_IF_ERROR(Expect(")"));
    MDH_RETURN_IF_ERROR(CheckOperands(function, operation, syntax.operands));
    return syntax;
  }

  Result<RightSideSyntax> ParseTranspose(bool is_virtual) {
    usage_ = absl::StrCat(is_virtual ? "v" : "", "transpose(t, [[1, 2]])");
    TransposeSyntax syntax{is_virtual, {}, {}};
    MDH_RETURN_IF_ERROR(Expect("("));
    MDH_ASSIGN_OR_RETURN(syntax.operand, ExpectName("a tensor"));
    MDH_RETURN_IF_ERROR(Expect(","));
    MDH_ASSIGN_OR_RETURN(syntax.pairs, ParsePairs());
    MDH_RETURN_IF_ERROR(Expect(")"));
    return syntax;
  }

  Result<RightSideSyntax> ParseContract(bool is_virtual) {
    usage_ = absl::StrCat(is_virtual ? "v" : "", "contract(t, u, [2, 1])");
    ContractSyntax syntax{is_virtual, {}, {}, {}};
    MDH_RETURN_IF_ERROR(Expect("("));
    MDH_ASSIGN_OR_RETURN(syntax.left, ExpectName("a tensor"));
    MDH_RETURN_IF_ERROR(Expect(","));
    MDH_ASSIGN_OR_RETURN(syntax.right, ExpectName("a tensor"));
    MDH_RETURN_IF_ERROR(Expect(","));
    MDH_ASSIGN_OR_RETURN(syntax.pairs, ParsePairs());
    MDH_RETURN_IF_ERROR(Expect(")"));
    return syntax;
  }

  Result<RightSideSyntax> ParseOuterProduct(bool is_virtual) {
    usage_ = absl::StrCat(is_virtual ? "v" : "", "outerproduct(t, u)");
    OuterProductSyntax syntax{is_virtual, {}};
    MDH_RETURN_IF_ERROR(Expect("("));
    MDH_ASSIGN_OR_RETURN(syntax.operands, ParseNames("a tensor"));
    MDH_RETURN_IF_ERROR(Expect(")"));
    return syntax;
  }

  Result<RightSideSyntax> ParseLoop(const LoopFunctionInfo& info) {
    usage_ = std::string(info.usage);
    LoopSyntax loop{info.function, {}, {}};
    MDH_RETURN_IF_ERROR(Expect("("));
    for (int n = 0; n < info.names; ++n) {
      if (n > 0) MDH_RETURN_IF_ERROR(Expect(","));
      MDH_ASSIGN_OR_RETURN(
          loop.names.emplace_back(),
          ExpectName(info.function == LoopFunction::kBuild ? "a tensor" : "a loop"));
    }
    // The paper writes interchange(l, [2, 3]), too.
    bool has_bracket = false;
    for (int n = 0; n < info.numbers; ++n) {
      MDH_RETURN_IF_ERROR(Expect(","));
      if (n == 0) has_bracket = stream_.Accept("[");
      MDH_ASSIGN_OR_RETURN(loop.numbers.emplace_back(), ParseNumber());
    }
    if (has_bracket) MDH_RETURN_IF_ERROR(Expect("]"));
    MDH_RETURN_IF_ERROR(Expect(")"));
    return loop;
  }

  const Bindings& bindings_;
  ScalarType type_ = ScalarType::kFloat64;  // of tensors without one
  TemlSyntax syntax_;
};

}  // namespace

Result<TemlSyntax> ParseTemlSyntax(TokenStream* stream, const Bindings& bindings) {
  return TemlParser(stream, bindings).Run();
}

}  // namespace mdh
