// The head of a definition: its name and parameters.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/text/affine_parser.h"
#include "core/text/function_syntax.h"
#include "core/text/parser.h"
#include "core/text/token_stream.h"
#include "core/text/type_syntax.h"

namespace mdh {

struct ParameterSyntax {
  Token name;
  bool is_type;
  // Positions of the default's tokens in the stream; equal if there is none.
  size_t default_begin = 0;
  size_t default_end = 0;
};

struct HeaderSyntax {
  Token name;
  std::vector<ParameterSyntax> parameters;
};

// NAME [< types | sizes >] := with position behind it. Errors: InvalidArgument with position.
Result<HeaderSyntax> ParseHeaderSyntax(TokenStream* stream);

// Values of all parameters: from `bindings`, else from the defaults, in which earlier parameters
// may be used. The stream's position is kept. Errors: InvalidArgument, naming the parameter.
Status BindParameters(const HeaderSyntax& header, const Bindings& bindings, TokenStream* stream,
                      TypeNames* types, SizeValues* sizes);

}  // namespace mdh
