// The syntax of functions in the where part: what was written, before types are known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_function.h"
#include "core/text/affine_parser.h"
#include "core/text/literal_syntax.h"
#include "core/text/token_stream.h"
#include "core/text/type_syntax.h"

namespace mdh {

// Nodes are numbered so that operands come before the nodes that use them: trees of any depth are
// walked by a loop.
struct ScalarNode {
  enum class Kind {
    kParameter,  // number `reference`
    kIndex,      // the index of dimension number `reference`
    kLet,        // the value of node `reference`, which is no kLet
    kLiteral,
    kTable,      // literals, which have to be read at an index
    kElement,    // operand 0 (a table) at index operand 1
    kField,      // the field names[0] of operand 0
    kRecord,     // a record of the operands; names of the fields in `names`
    kCast,       // operand 0 to `type`
    kOperation,  // `op` on the operands
  };
  Kind kind;
  Token token;  // for messages: the name, literal or operator
  int reference = -1;
  LiteralSyntax literal = {};
  ScalarType type = ScalarType::kBool;
  ScalarOp op = ScalarOp::kNeg;
  std::vector<int> operands = {};
  std::vector<Token> names = {};
  std::vector<LiteralSyntax> table = {};
};

struct FunctionSyntax {
  Token name;
  std::vector<Token> parameters;
  struct ResultSyntax {
    Token name;
    TypePointer type = nullptr;  // null if none is written
    Token type_token = {};       // only with a type
  };
  std::vector<ResultSyntax> results;
  std::optional<std::vector<ConstantSyntax>> identity;
  Token identity_token;  // only with an identity
  std::vector<ScalarNode> nodes;
  // Values of lets, in order.
  struct Let {
    Token name;
    int node;
  };
  std::vector<Let> lets;
  // Of a whole result, or of one field of a record. No part is assigned twice, and at least one
  // part of every result is.
  struct Assignment {
    int result;
    std::optional<Token> field;
    int node;
    Token token;
  };
  std::vector<Assignment> assignments;
};

// Names that mean something in a function where it gives them no meaning itself.
struct FunctionContext {
  const TypeNames& types;   // type parameters of the definition
  const SizeValues& sizes;  // size parameters: numbers that are typed as literals are
  const std::vector<std::string>& dimensions;  // indices
};

// name(parameters) -> results [identity (...)] { ... }. Names are resolved. Errors: InvalidArgument
// with position.
Result<FunctionSyntax> ParseFunction(TokenStream* stream, const FunctionContext& context);

// The function of `parameters` whose result is the value that the rest of the text is. Errors:
// InvalidArgument with position.
Result<FunctionSyntax> ParseValueFunction(const Token& name, const std::vector<Token>& parameters,
                                          const Token& result, TokenStream* stream,
                                          const FunctionContext& context);

}  // namespace mdh
