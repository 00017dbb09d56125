// Prints pipelines in the text form; ParsePipeline of the result gives the same pipeline.
#pragma once

#include <string>

#include "core/pipeline/pipeline.h"

namespace mdh {

// The pipeline, then the definitions that it calls, which are printed as ToText of an expression
// prints them. Steps with the same definition share it.
std::string ToText(const Pipeline& pipeline);

}  // namespace mdh
