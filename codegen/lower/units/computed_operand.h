// Operands of contractions that are computed rather than loaded, as loop programs.
#pragma once

#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"
#include "core/expression/contraction_form.h"
#include "core/expression/expression.h"

namespace mdh {

// The operand at a point, one index per dimension, as a value to compute with. `pointers`: to what
// each parameter of f reads (RecordViews::InputPointers). Appends what it needs to the block.
LoopValue EmitOperand(const Expression& expression, const ContractionOperand& operand,
                      const std::vector<std::string>& pointers, const std::vector<Index>& point,
                      NameAllocator& names, Block* block);

}  // namespace mdh
