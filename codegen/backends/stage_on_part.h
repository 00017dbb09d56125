// Stages of a program as statements of whoever runs them alone, within a stage of others.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "codegen/program/loop_program.h"
#include "core/base/status.h"

namespace mdh {

// The same by the only thread of a CPU.
Block OfOneThread(const Block& body);

// A block that runs whole stages, the blocks of each one after the other.
struct BlockOfPart {
  int64_t threads;
  std::string thread;  // index variable: the thread's number in it
  std::string round;   // name for the number of a stage's block
  int warp;            // threads of a warp
};

// The threads of a block of the stage, if it asks for their numbers; else 1: any number will do.
int64_t NumberedThreads(const Stage& stage);

// The same by all threads of the block. Expects that shared arrays are declared around it. Errors:
// InvalidArgument, naming the constraint: a stage with barriers needs as many threads as the block
// has, one with shuffles whole warps, and blocks do not wait for each other.
Result<Block> OfOneBlock(const Stage& stage, const BlockOfPart& block);

// Names of pointers and arrays that are accessed as only device memory can be: asynchronous copies
// read them, or threads add to their elements; and stores to them go past caches.
void CollectDeviceOnly(const Block& body, std::set<std::string>* names);

}  // namespace mdh
