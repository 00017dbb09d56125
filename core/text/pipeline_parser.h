// The text form of pipelines: definitions of md_homs and the pipeline that calls them, in one text.
// Grammar in grammar.md.
#pragma once

#include <string_view>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "core/text/parser.h"

namespace mdh {

// The pipeline of a text, instantiated; of a text with one definition only, the pipeline of this
// one step. `name`: of the pipeline or definition that is meant; empty: the only one there is to
// mean. `bindings`: values for its parameters. Errors: as those of ParseExpression, or what
// Pipeline::Create says, at its place; InvalidArgument if it is not clear what is meant.
Result<Pipeline> ParsePipeline(std::string_view text, const Bindings& bindings = {},
                               std::string_view source_name = "<text>", std::string_view name = "");

// Whether a text has the definition of a pipeline. Costs the search for a word where there is none;
// texts with errors in their headers have none.
bool HoldsPipeline(std::string_view text);

}  // namespace mdh
