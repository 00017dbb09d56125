// The syntax of functions in the where part: what was written, before types are known.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/scalar_function.h"
#include "core/status.h"
#include "core/text/token_stream.h"

namespace mdh {

// A literal with its sign.
struct LiteralSyntax {
  Token token;  // 1, 2.5, true, false, inf, nan
  bool is_negative = false;
};

// Nodes are numbered so that operands come before the nodes that use them: trees of any depth are
// walked by a loop.
struct ScalarNode {
  enum class Kind {
    kParameter,  // number `reference`
    kLet,        // the value of node `reference`
    kLiteral,
    kCast,       // operand 0 to `type`
    kOperation,  // `op` on the operands
  };
  Kind kind;
  Token token;  // for messages: the name, literal or operator
  int reference = -1;
  LiteralSyntax literal = {};
  ScalarType type = ScalarType::kBool;
  ScalarOp op = ScalarOp::kNeg;
  int num_operands = 0;
  std::array<int, 3> operands = {-1, -1, -1};
};

struct FunctionSyntax {
  Token name;
  std::vector<Token> parameters;
  std::vector<Token> results;
  std::optional<std::vector<LiteralSyntax>> identity;
  Token identity_token;  // only with an identity
  std::vector<ScalarNode> nodes;
  // Values of lets, in order.
  struct Let {
    Token name;
    int node;
  };
  std::vector<Let> lets;
  std::vector<int> result_nodes;     // one per result
  std::vector<Token> result_tokens;  // where each result is assigned
};

using TypeNames = std::map<std::string, ScalarType, std::less<>>;

// name(parameters) -> results [identity (...)] { ... }. `types`: type parameters of the definition.
// Names are resolved. Errors: InvalidArgument with position.
Result<FunctionSyntax> ParseFunction(TokenStream* stream, const TypeNames& types);

// The type of that name: a type parameter or a scalar type.
std::optional<ScalarType> TypeNamed(absl::string_view name, const TypeNames& types);

// The name of a type. Errors: InvalidArgument with position.
Result<ScalarType> ParseType(TokenStream* stream, const TypeNames& types);

// Whether `name` is a function of the scalar language: min, sqrt, ...
bool IsBuiltInFunction(absl::string_view name);

}  // namespace mdh
