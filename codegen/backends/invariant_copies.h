// Copies that are the same in every iteration of the loop around a step.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"

namespace mdh {

// Copies to shared memory.
struct HoistedCopies {
  Block before;  // in front of the loop; empty: there are none
  Block inside;  // the step without them
};

// Expects a step whose copies go to arrays that nothing else stores to. `variant`: names that
// change from iteration to iteration; `constants`: buffers that do not.
HoistedCopies HoistCopies(const Block& step, std::set<std::string> variant,
                          const std::set<std::string>& constants);

// Of a stage that only packs, with this body: whether it reads nothing but these constants. `own`:
// scratch memory of its step.
bool PacksConstants(const Block& body, const std::vector<ScratchBuffer>& own,
                    const std::set<std::string>& constants);

// The block without declarations that nothing behind them uses.
Block UsedBy(Block block);

}  // namespace mdh
