// What steps of a joint group have in common, for the program that runs them together.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "codegen/backends/invariant_copies.h"
#include "codegen/backends/joint_stage.h"
#include "core/device/device_description.h"

namespace mdh {

// Threads of the block that computes a part: of the step with most.
int64_t ThreadsOfBlock(const JointStageParts& parts);

// Threads of a CPU that have parts at most; 0: all.
int MostThreads(const JointStageParts& parts);

// Of all threads, or blocks; with those of splits.
int64_t NumberOfParts(const JointStageParts& parts);

// Whether what a step has of a buffer is elsewhere for other parts, or chunks.
bool Moves(const JointStageParts& parts, const PartBuffer& place);

// Buffers that no step of the group writes.
std::set<std::string> ConstantsOf(const JointStageParts& parts);

// Of a CPU, for what the step packs. `names`: of its pointers, per argument; `part`: the number of
// the part; `point`: where its chunk begins.
PartsOfThread PartsSeenBy(const JointStageParts& parts, const JointStageParts::Step& step,
                          const std::vector<std::string>& names, const Index& part,
                          const Index& point, const DeviceDescription& device);

struct JointLanes {
  int64_t lanes = 1;      // threads of a block that have rows in common in all steps of chunks
  bool in_turns = false;  // whether threads are numbered by InTurns
};

// Of a streamed group: its steps of chunks hand on rows to each other.
JointLanes LanesOf(const JointStageParts& parts, const DeviceDescription& device);

}  // namespace mdh
