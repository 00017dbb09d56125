// Loop programs as text, the same for all targets: what the tests of passes read.
#pragma once

#include <string>

#include "codegen/program/loop_program.h"

namespace mdh {

// One line per statement, blocks indented. Scalars are written as in the text form of expressions,
// operations by name: add(x, mul(a[i], b[i])).
std::string ToText(const Block& block);
std::string ToText(const LoopValue& value);
std::string ToText(const LoopProgram& program);

}  // namespace mdh
