// A pass: asynchronous copies begin between the multiplications of the part at hand, and the first
// values of the next part are loaded before the last ones of this one are multiplied (software
// pipelining across parts).
#pragma once

#include "codegen/program/loop_program.h"
#include "core/decomposition/tuning_parameters.h"

namespace mdh {

// Expects what MakeAsyncCopies ensures, with loops marked that will be unrolled. Looks for loops
//   for v: place; wait; Barrier; copies of a later part, if there is one; commit; for k: points
// that are not unrolled, whose loop over k is, has two iterations at least, and is all there is
// behind the commit but for comments and indices.
//
// With kCopies ensures the same computation in which the copies begin one after the other behind
// points of the loop over k, all of them before the last ones:
//   for v: place; wait; Barrier; points of the first k; some copies; points of further k; ...;
//   commit
// Threads that began all of them at once would wait for each other, and multiply nothing meanwhile.
// There are no branches among points: of a part that does not exist, zeros go to where nobody reads
// any more, and behind the loop is a wait for them. So do zeros in place of elements that some
// threads do not copy (MayFill); other branches stay. Sources are pointers that move on once per
// part, places in arrays pointers that are found once per part.
//
// With kValues also that what the loop over k reads of the copied arrays is in registers one
// iteration before it is needed, and is read by the last barrier's other side for the first one:
//   wait; Barrier; load values of (first v, first k)
//   for v: place
//     for k but the last: load values of (v, k + 1); points of k from registers; some copies
//     commit; wait; Barrier; load values of (v + 1, first k); points of the last k from registers
// Threads have something to multiply when they come from a barrier. It is the same barrier per part
// as before: when a thread is behind it, all have loaded what they need of part v, and copies of
// iteration v + 1 may go to its place. Behind the last part its own first values are loaded again,
// and not used. Where the loop over k reads an array by anything but loads of
// single elements at places that unrolled loops alone tell apart, or more than kMostKeptValues of
// them, it is as with kCopies.
inline constexpr int64_t kMostKeptValues = 40;
LoopProgram OverlapCopies(LoopProgram program, CopyOverlap overlap);

}  // namespace mdh
