#include "codegen/passes/passes.h"

#include <utility>

#include "codegen/passes/keep_shared_loads.h"
#include "codegen/passes/pass_async_copies.h"
#include "codegen/passes/pass_branch_selections.h"
#include "codegen/passes/pass_double_buffer.h"
#include "codegen/passes/pass_hoist_guards.h"
#include "codegen/passes/pass_hoist_indices.h"
#include "codegen/passes/pass_hoist_insides.h"
#include "codegen/passes/pass_overlap_copies.h"
#include "codegen/passes/pass_simplify.h"
#include "codegen/passes/pass_unroll.h"
#include "codegen/passes/pass_vectorize_copies.h"

namespace mdh {
namespace {

enum Lowerings : uint8_t { kLevels = 1, kTiles = 2, kAll = kLevels | kTiles };

struct Pass {
  Lowerings lowerings;  // those whose programs it is for
  LoopProgram (*run)(LoopProgram program, const PassOptions& options);
};

// Register tiles have loops and vectors as the compiler shall have them, and no guards or copies
// that a pass looks for.
constexpr Pass kPasses[] = {
    // What shapes and sizes decide is gone before other passes look for their patterns.
    {kLevels, [](LoopProgram p, const PassOptions&) { return Simplify(std::move(p)); }},
    // Guards stand around the loops that they do not depend on.
    {kLevels, [](LoopProgram p, const PassOptions&) { return HoistGuards(std::move(p)); }},
    // Copies that are marked for it run several parts ahead of the computation, ...
    {kLevels,
     [](LoopProgram p, const PassOptions& options) {
       return MakeAsyncCopies(std::move(p), {.lane_prefix = options.copy_loops});
     }},
    // ... others are split into loads ahead and stores behind the computation ...
    {kLevels,
     [](LoopProgram p, const PassOptions& options) {
       return DoubleBuffer(std::move(p), {.private_bytes = options.prefetch_bytes});
     }},
    // ... which leaves constant first parts.
    {kLevels, [](LoopProgram p, const PassOptions&) { return Simplify(std::move(p)); }},
    // Loops over lanes become wide loads and stores, those of split copies too.
    {kLevels,
     [](LoopProgram p, const PassOptions& options) {
       return VectorizeCopies(std::move(p),
                              {.lane_prefix = options.copy_loops,
                               .private_arrays = options.private_arrays_in_registers});
     }},
    // What is rarely taken and costs much is in branches.
    {kAll, [](LoopProgram p, const PassOptions&) { return BranchSelections(std::move(p)); }},
    // Which loops stay loops.
    {kLevels,
     [](LoopProgram p, const PassOptions& options) {
       return Unroll(std::move(p), {.points = options.unroll,
                                    .private_arrays = options.private_arrays_in_registers});
     }},
    // Those that are unrolled have copies among their points.
    {kLevels,
     [](LoopProgram p, const PassOptions& options) {
       return OverlapCopies(std::move(p), options.copy_overlap);
     }},
    // Index arithmetic moves out of the others.
    {kLevels, [](LoopProgram p, const PassOptions&) { return HoistIndices(std::move(p)); }},
    // Which places of a tile at an edge exist is known in front of its loops.
    {kTiles, [](LoopProgram p, const PassOptions&) { return HoistInsides(std::move(p)); }},
    // Compilers load again from memory what several operations use, unless they must not.
    {kTiles, [](LoopProgram p, const PassOptions&) { return KeepSharedLoads(std::move(p)); }},
};

}  // namespace

LoopProgram Optimize(LoopProgram program, const PassOptions& options) {
  const Lowerings lowering = options.lowering == Lowering::kTiles ? kTiles : kLevels;
  for (const Pass& pass : kPasses) {
    if ((pass.lowerings & lowering) != 0) program = pass.run(std::move(program), options);
  }
  return program;
}

}  // namespace mdh
