// A definition of the text form as it was written: parameters have values, names of functions are
// not yet resolved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/expression.h"
#include "core/text/affine_parser.h"
#include "core/text/function_syntax.h"
#include "core/text/parser.h"
#include "core/text/token_stream.h"

namespace mdh {

// Which token an error at a place of the expression points to.
struct BufferTokens {
  Token name;
  struct Access {
    Token start;
    std::vector<Token> indices;
  };
  std::vector<Access> accesses;
};

struct ViewSyntax {
  std::vector<Buffer> buffers;
  std::vector<BufferTokens> tokens;  // one per buffer
};

struct CombineOperatorSyntax {
  Token token;
  bool is_concat = false;
  std::optional<PointWiseKind> kind;  // nullopt: the function called `token`
};

struct DefinitionSyntax {
  Token name;
  std::vector<Dimension> dimensions;
  std::vector<Token> size_tokens;  // one per dimension
  ViewSyntax outputs, inputs;
  Token function;  // named in md_hom
  std::vector<CombineOperatorSyntax> combine_operators;
  std::vector<FunctionSyntax> functions;  // of the where part
};

// Reads a whole text. Errors: as those of ParseExpression.
Result<DefinitionSyntax> ParseDefinition(TokenStream* stream, const Bindings& bindings);

}  // namespace mdh
