// Expressions and pipelines in the text form, whichever it is.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/pipeline/computation.h"
#include "core/text/parser.h"

namespace mdh {

// ParsePrinted of the result gives the same computation.
std::string ToText(const ComputationView& computation);

// A pipeline if the text has the definition of one. Errors: as ParseExpression or ParsePipeline.
Result<Computation> ParseComputation(std::string_view text, const Bindings& bindings = {},
                                     std::string_view source_name = "<text>");

// As ParseComputation, but a pipeline of one step stays one: that an expression is planned
// (AsPlanned) is known by its text.
Result<Computation> ParsePrinted(std::string_view text);

}  // namespace mdh
