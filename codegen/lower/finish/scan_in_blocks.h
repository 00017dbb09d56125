// Prefix sums on targets with blocks of threads, along a dimension in which results lie side by
// side in memory: reduce, then scan (Example 15's parts, one for every tile of a block).
#pragma once

#include "codegen/lower/finish/finish_results.h"

namespace mdh {

// How a line of `size` elements is cut: a block of threads has `threads` x `rows` threads, of which
// each row has a tile of `threads` x `elements` neighbours of a line, and each line has `tiles`.
struct ScanTiles {
  int64_t threads, rows, elements, tiles;

  int64_t tile() const { return threads * elements; }
};

// `lines` of `size` elements, for which a thread keeps `bytes` of registers each; a block has at
// most `most` threads, a positive number. What it keeps in shared memory stays below 16 KiB for
// elements of up to 128 bytes, which every device has.
ScanTiles CutForScan(int64_t lines, int64_t size, int64_t bytes, int64_t most);

// Whether elements along dimension d are neighbours in the arrays of results.
bool CanScanInBlocks(const Expression& expression, int d);

// Appends the stages that replace all elements by prefix sums along d, and scratch buffers. Expects
// CanScanInBlocks, and that the slots of reductions are combined. `is_last`: they go to the
// outputs. Elements are combined from the left to the right, but in an order of the target's
// liking: all policies other than kReassociate need AppendFinishingStages' serial ones.
void AppendBlockScan(const Expression& expression, const ResultArrays& results, int d, bool is_last,
                     LoopProgram* program);

}  // namespace mdh
