// Elements of outputs that no index function reaches, and results that combine no points.
#pragma once

#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "core/expression/expression.h"

namespace mdh {

// Who shares items: the threads of CPUs take shares of neighbours, those of blocks one after the
// other.
enum class ItemSharing : uint8_t { kContiguous, kInterleaved };

// Makes the program write zeros to the elements of outputs that FindUnreached gives, unless they
// keep what is there. `outputs`: how the program calls them. Where the elements are known exactly,
// threads of a stage that is there anyway, if any, write them besides; else everything around them
// becomes zero in a stage before all others. With kInterleaved, so do elements that are many more
// than the threads of any stage.
void FillUnreached(const Expression& expression, const std::vector<std::string>& outputs,
                   ItemSharing sharing, LoopProgram* program);

// The program of an expression with an empty dimension, but for FillUnreached: one stage, in which
// results become the operator's identity, or what the store function makes of it. `inputs`: how the
// program calls the passed inputs, of which only that function reads any.
LoopProgram EmptyProgram(const Expression& expression, const std::vector<std::string>& outputs,
                         ItemSharing sharing, const std::vector<std::string>& inputs = {});

}  // namespace mdh
