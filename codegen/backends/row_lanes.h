// Threads of a block that have rows in common: where all steps of a group lay out their threads in
// the same way, neighbours along x are the lanes of a row.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "codegen/backends/stage_on_part.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// Lanes of a row, 32 at most, if all these stages have as many threads along x, and along y as many
// rows at once; else 1.
int64_t LanesOfRows(absl::Span<const Stage* const> stages);

// Whether all shuffles of the steps are among the lanes of a row, and of operators that commute.
bool ShufflesAreOfLanes(absl::Span<const Stage* const> stages, int64_t lanes);

// The number of a thread in steps, by its number in the block. Warps of the device load 16 bytes a
// lane in half the time where two neighbours, or two that are two apart, load the same: two rows
// take turns, so that of what rows have in common neighbours do, and of what is a row's own those
// that are two apart.
Index InTurns(const Index& thread, int64_t lanes);

// The same where lanes combine values by shuffles of an operator that commutes: all of them have
// what else the first one has alone. What only that one does with it is under the condition that
// `lane` is 0, which stands for `thread` modulo `lanes`. `in_turns`: threads are numbered by
// InTurns.
Block WithResultsInAllLanes(const Block& body, const std::string& thread, int64_t lanes,
                            const std::string& lane, bool in_turns);

// The stage by a block of so many times the threads that it has: what is done once per row all
// lanes of the row do. `row`: a name for its number. Errors: those of OfOneBlock.
Result<Block> OfRows(const Stage& stage, BlockOfPart block, int64_t lanes, const std::string& row);

}  // namespace mdh
