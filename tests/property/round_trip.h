// Expressions and pipelines printed, sent and read again.
#pragma once

#include <string>

#include "core/expression/expression.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// Checks that the text of `expression` reads back as an expression with the same digest, which
// prints as the same text, and that its message reads back as an expression with the same digest
// and message. Returns what is wrong with the texts at hand, or nothing.
std::string RoundTripFailure(const Expression& expression);
std::string RoundTripFailure(const Pipeline& pipeline);

}  // namespace mdh
