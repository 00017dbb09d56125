// Definitions within a text that has several of them: what ParseExpression and ParsePipeline share.
#pragma once

#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/text/parser.h"
#include "core/text/token_stream.h"

namespace mdh {

// The definition that comes next, instantiated. Errors: as those of ParseExpression.
Result<Expression> ParseNextExpression(TokenStream* stream, const Bindings& bindings);

}  // namespace mdh
