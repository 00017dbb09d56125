// Implied conditions: those that hold wherever another one holds, and take less to evaluate.
#pragma once

#include <functional>
#include <string>

#include "codegen/program/loop_program.h"

namespace mdh {

// The value that the name of a bool stands for, where it may be evaluated again; else nullptr.
using ValueOfName = std::function<LoopValue(const std::string& name)>;

// nullptr unless at least `least_dropped` comparisons less are evaluated. Of every conjunction with
// tests for equality two of these are left: data are rarely equal, so that the weaker condition
// rarely holds either.
LoopValue WeakerCondition(const LoopValue& condition, const ValueOfName& value_of,
                          int least_dropped);

}  // namespace mdh
