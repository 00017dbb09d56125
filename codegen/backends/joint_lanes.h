// What steps of a joint group have in common, for the program that runs them together.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "codegen/backends/joint_stage.h"
#include "core/device/device_description.h"

namespace mdh {

// Threads of the block that computes a part: of the step with most.
int64_t ThreadsOfBlock(const JointStageParts& parts);

// Threads of a CPU that have parts at most; 0: all.
int MostThreads(const JointStageParts& parts);

// Buffers that no step of the group writes.
std::set<std::string> ConstantsOf(const JointStageParts& parts);

struct JointLanes {
  int64_t lanes = 1;      // threads of a block that have rows in common in all steps of chunks
  bool in_turns = false;  // whether threads are numbered by InTurns
};

// Of a streamed group: its steps of chunks hand on rows to each other.
JointLanes LanesOf(const JointStageParts& parts, const DeviceDescription& device);

}  // namespace mdh
