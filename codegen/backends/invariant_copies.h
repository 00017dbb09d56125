// Copies that are the same in every iteration of the loop around a step, or for several parts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "core/device/device_description.h"

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

// The parts that a thread of a CPU computes, one after the other, as a step sees them.
struct PartsOfThread {
  // How far what a pointer points to is the same.
  struct Pointer {
    int64_t parts = 1;         // for so many in turn, from a multiple of them on
    bool is_of_chunk = false;  // but not for all chunks of one
  };
  std::set<std::string> constants = {};          // buffers that nothing writes
  std::map<std::string, Pointer> pointers = {};  // to what a part, or a chunk, has of such
  Index part;                                    // its number
  Index chunk = Index(0);                        // and that of its chunk
  int64_t chunks = 1;                            // of all parts
  int64_t in_turn = 1;                           // parts of a thread
  int64_t most_bytes = 0;                        // of what it keeps of an input
};

// Bytes of copies of an input that a thread keeps for several chunks at most: a core's share of
// the caches.
int64_t MostBytesKept(const DeviceDescription& device);

struct PackedForParts {
  Block before_parts;                 // what is packed once, in front of all parts
  Block no_copies;                    // in front of them, too: nothing else has been packed
  Block pointers;                     // in front of the step: to the copies for its chunk
  Block body;                         // what is packed for the part, perhaps unless it has been
  std::vector<ScratchBuffer> memory;  // all of the step, and what says what is kept
};

// Of a stage that only packs, with this body, which runs for each part, and chunk if there are
// several: copies of constants are made once, those that are the same for several parts when the
// first of them begins, as keys are for all queries of a head, and those that are the same for all
// chunks with the first one. `own`: scratch memory of the step.
PackedForParts PackForParts(const Block& body, std::vector<ScratchBuffer> own,
                            const PartsOfThread& parts,
                            const std::function<std::string(const std::string&)>& new_name);

// The block without declarations that nothing behind them uses.
Block UsedBy(Block block);

}  // namespace mdh
