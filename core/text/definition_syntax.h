// A definition of the text form as it was written: parameters have values, names of functions are
// not yet resolved.
#pragma once

#include <optional>
#include <vector>

#include "core/expression/expression.h"
#include "core/text/function_syntax.h"
#include "core/text/parser.h"
#include "core/text/token_stream.h"
#include "core/text/view_parser.h"

namespace mdh {

// pw or ps of named operations or of a function, or cc.
struct CombineOperatorSyntax {
  Token token;
  bool is_concat = false;
  bool is_prefix_sum = false;
  std::vector<PointWiseKind> kinds = {};  // none: the function called `token`
  bool is_tuple = false;                  // (+, max): one kind per result; else one for all
};

// store s<T>( bias: (i,j,k) -> (j) ): what is made of results before they are stored.
struct StoreSyntax {
  Token function;
  ViewSyntax inputs;
};

struct DefinitionSyntax {
  Token name;
  std::vector<Dimension> dimensions;
  std::vector<Token> size_tokens;  // one per dimension
  ViewSyntax outputs, inputs;
  Token function;  // named in md_hom
  std::vector<CombineOperatorSyntax> combine_operators;
  std::optional<StoreSyntax> store;
  std::vector<FunctionSyntax> functions;  // of the where part
};

// Reads one definition, the first that comes. Errors: as those of ParseExpression.
Result<DefinitionSyntax> ParseDefinition(TokenStream* stream, const Bindings& bindings);

}  // namespace mdh
