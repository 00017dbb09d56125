// Views of the text form: buffers, their layouts and boundaries, and index functions.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/text/affine_parser.h"
#include "core/text/token_stream.h"
#include "core/text/type_syntax.h"

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
  std::vector<TypePointer> types;    // one per buffer
};

// What is known of a definition while its views are read.
struct ViewContext {
  const TypeNames& types;
  const SizeValues& sizes;
  std::vector<std::string> dimensions;  // named by the first index function
  size_t accesses = 0;                  // of all views
};

// `keyword` [< types >] ( buffers ). Errors: InvalidArgument or OutOfRange with position.
Result<ViewSyntax> ParseView(absl::string_view keyword, TokenStream* stream, ViewContext* context);

}  // namespace mdh
