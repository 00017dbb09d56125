// The interpreter of loop trees: what the loops of a TeML program compute, iteration by iteration.
// It knows nothing of pipelines, whose interpreter it judges and is judged by.
#pragma once

#include <map>
#include <string>

#include "core/base/status.h"
#include "core/expression/interpreter.h"
#include "core/teml/program.h"

namespace mdh {

// Contents of tensors, row-major, by their names.
using TensorContents = std::map<std::string, BufferBytes>;

// Runs the loops, one after the other; those that are parallel or vectorized run backwards, as they
// may. `inputs`: contents of the tensors that no assignment has as its target and init does not
// set. Gives the contents of all tensors that are used. Values have the tensors' types all the
// time. Errors: InvalidArgument for inputs that are missing or have another size.
Result<TensorContents> InterpretLoops(const TemlProgram& program, const TensorContents& inputs);

}  // namespace mdh
