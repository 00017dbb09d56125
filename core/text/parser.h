// The text form of expressions (.mdh files): the paper's notation in ASCII. Grammar in grammar.md.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

// Values for the parameters between < and > of a definition, e.g. {"T": "fp32", "I": "1024"}; a
// type can be a record, as in {"T": "{x: fp32, n: int32}"}.
// They take precedence over the defaults that the text gives.
using Bindings = std::map<std::string, std::string>;

// Parses one definition and instantiates it.
// Errors: InvalidArgument (or what Expression::Create says); the message is
//   source_name:LINE:COLUMN: expected X, found Y
// followed by the line and a caret under the column. A parameter without a value, a binding for a
// parameter that does not exist, and a value that is no size or type are errors that name it.
Result<Expression> ParseExpression(std::string_view text, const Bindings& bindings = {},
                                   std::string_view source_name = "<text>");

}  // namespace mdh
