// Canonical form and digest of a pipeline: one digest per meaning.
#pragma once

#include <string>

#include "core/pipeline/pipeline.h"

namespace mdh {

// The canonical forms of the steps and what they read, and which of their outputs the pipeline
// gives. Names are not in it, nor are the order of steps that do not depend on each other and how
// often equal steps on equal buffers are written: steps are numbered depth first from the outputs,
// equal ones are one. A pipeline that is one step on its inputs and outputs, in their order, has
// the canonical form of its expression.
std::string CanonicalForm(const Pipeline& pipeline);

// Lower-case hexadecimal SHA-256 of the canonical form: 64 characters.
std::string Digest(const Pipeline& pipeline);

}  // namespace mdh
