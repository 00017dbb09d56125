// Expressions and pipelines in the text form, whichever it is.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/pipeline/computation.h"
#include "core/text/parser.h"

namespace mdh {

// ParseComputation of the result gives the same computation.
std::string ToText(const ComputationView& computation);

// A pipeline if the text has the definition of one. Errors: as ParseExpression or ParsePipeline.
Result<Computation> ParseComputation(std::string_view text, const Bindings& bindings = {},
                                     std::string_view source_name = "<text>");

}  // namespace mdh
