// What generated code calls an expression's dimensions and buffers, in every lowering.
#pragma once

#include <string>
#include <vector>

#include "codegen/program/kernel.h"
#include "codegen/program/scalar_code.h"
#include "core/expression/expression.h"

namespace mdh {

// One identifier for each; all differ, but for inputs of one name (WithSeparateAccesses).
struct KernelNames {
  std::vector<std::string> indices, inputs, outputs;  // inputs: those passed
};

// Expects an allocator that has given no names yet: others are unlike these then.
KernelNames NamesOf(const Expression& expression, NameAllocator& names);

// Arguments of a kernel for the buffers of the expression, in order: passed inputs, then outputs.
std::vector<KernelArgument> ArgumentsOf(const Expression& expression, const KernelNames& names);

}  // namespace mdh
