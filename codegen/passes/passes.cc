#include "codegen/passes/passes.h"

#include "codegen/passes/keep_shared_loads.h"
#include "codegen/passes/pass_async_copies.h"
#include "codegen/passes/pass_branch_selections.h"
#include "codegen/passes/pass_double_buffer.h"
#include "codegen/passes/pass_hoist_guards.h"
#include "codegen/passes/pass_hoist_indices.h"
#include "codegen/passes/pass_simplify.h"
#include "codegen/passes/pass_unroll.h"
#include "codegen/passes/pass_vectorize_copies.h"

namespace mdh {

LoopProgram Optimize(LoopProgram program, const PassOptions& options) {
  // What shapes and sizes decide is gone before other passes look for their patterns.
  program = Simplify(std::move(program));
  // Guards stand around the loops that they do not depend on.
  program = HoistGuards(std::move(program));
  // Copies that are marked for it run several parts ahead of the computation, ...
  program = MakeAsyncCopies(std::move(program), {.lane_prefix = options.copy_loops});
  // ... others are split into loads ahead and stores behind the computation ...
  program = DoubleBuffer(std::move(program), {.private_bytes = options.prefetch_bytes});
  // ... which leaves constant first parts.
  program = Simplify(std::move(program));
  // Loops over lanes become wide loads and stores, those of split copies too.
  program = VectorizeCopies(
      std::move(program),
      {.lane_prefix = options.copy_loops, .private_arrays = options.private_arrays_in_registers});
  // What is rarely taken and costs much is in branches.
  program = BranchSelections(std::move(program));
  // Which loops stay loops.
  program = Unroll(std::move(program), {.points = options.unroll,
                                        .private_arrays = options.private_arrays_in_registers});
  // Index arithmetic moves out of those.
  return HoistIndices(std::move(program));
}

LoopProgram OptimizeTiles(LoopProgram program) {
  program = BranchSelections(std::move(program));
  // Compilers load again from memory what several operations use, unless they must not.
  return KeepSharedLoads(std::move(program));
}

}  // namespace mdh
