// A TeML program as it is written (paper, Figure 1, and the extensions of Section 4): sizes have
// values, names are not yet looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_type.h"
#include "core/teml/iterator_index.h"
#include "core/teml/operation.h"
#include "core/text/literal_syntax.h"
#include "core/text/parser.h"
#include "core/text/token_stream.h"

namespace mdh {

// [i, 2*j+k]
struct IteratorsSyntax {
  Token token;  // the bracket
  IteratorList indices;
};

struct NumberSyntax {
  Token token;
  int64_t value;
};

// [r1, r2]: dimensions, counted from 1.
struct PairSyntax {
  NumberSyntax first, second;
};

// scalar(), tensor([10, 20]), tensor(double, [10, 20]).
struct TensorSyntax {
  ScalarType type;
  bool is_scalar;
  std::vector<int64_t> shape;
};

// eq(t, [i, j] -> [j, i])
struct EqSyntax {
  Token operand;
  std::optional<IteratorsSyntax> from;
  IteratorsSyntax to;
};

// vadd(t, u, [[i], ]), add(t, u, [[i], ] -> [i])
struct OperationSyntax {
  const TemlOperation* operation;
  std::vector<Token> operands;
  std::vector<std::optional<IteratorsSyntax>> lists;  // one per operand
  std::optional<IteratorsSyntax> to;                  // none: a virtual tensor
};

// entrywise_add(t, u), ventrywise_add(t, u)
struct EntrywiseSyntax {
  const TemlOperation* operation;
  bool is_virtual;
  std::vector<Token> operands;
};

// transpose(t, [[1, 2]]), vtranspose(t, [[1, 2]])
struct TransposeSyntax {
  bool is_virtual;
  Token operand;
  std::vector<PairSyntax> pairs;
};

// contract(t, u, [2, 1]), vcontract(t, u, [2, 1])
struct ContractSyntax {
  bool is_virtual;
  Token left, right;
  std::vector<PairSyntax> pairs;
};

// outerproduct(t, u), vouterproduct(t, u)
struct OuterProductSyntax {
  bool is_virtual;
  std::vector<Token> operands;
};

enum class LoopFunction {
  kBuild,
  kStripmine,
  kInterchange,
  kFuseOuter,
  kFuseInner,
  kUnroll,
  kParallelize,
  kVectorize,
  kStripmineN,
  kInterchangeN,
  kTile,
};

// build(t), interchange(l, 1, 2), ...
struct LoopSyntax {
  LoopFunction function;
  std::vector<Token> names;
  std::vector<NumberSyntax> numbers;
};

using RightSideSyntax =
    std::variant<TensorSyntax, EqSyntax, OperationSyntax, EntrywiseSyntax, TransposeSyntax,
                 ContractSyntax, OuterProductSyntax, LoopSyntax>;

// id = expression, id = @target: expression
struct AssignmentSyntax {
  Token name;
  std::optional<Token> target;
  Token function;  // the name before the parenthesis
  RightSideSyntax right;
};

// init(t, 1.5)
struct InitSyntax {
  Token name;
  LiteralSyntax value;
};

// codegen(l1, l2)
struct CodegenSyntax {
  std::vector<Token> names;
};

using StatementSyntax = std::variant<AssignmentSyntax, InitSyntax, CodegenSyntax>;

struct TemlSyntax {
  std::vector<StatementSyntax> statements;
  std::set<std::string> names;  // all that the text has
};

// Reads a whole program. `bindings`: values for sizes, which take precedence over those in the
// text, and for `type`. Errors: InvalidArgument with position; OutOfRange.
Result<TemlSyntax> ParseTemlSyntax(TokenStream* stream, const Bindings& bindings);

}  // namespace mdh
