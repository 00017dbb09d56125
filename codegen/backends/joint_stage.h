// The loop program of a joint group: the programs of its steps on a part, one after the other, for
// every part by one thread of a CPU or by one block.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/backends/build_program.h"
#include "codegen/program/scalar_code.h"
#include "core/device/device_description.h"
#include "core/pipeline/plan/joint_part.h"

namespace mdh {

// What it consists of.
struct JointStageParts {
  // Of the part's steps, with the program of each; names of functions and scratch memory are those
  // that they have in the whole program.
  struct Step {
    std::string label;                // "step 2, matmul"
    KernelProgram built;              // in it, arguments have their own names
    std::vector<PartBuffer> buffers;  // per argument
    int threads = 0;                  // as TuningParameters::threads
    // Whether what several threads have is the same in whatever order they combine it.
    bool commutes = true;
  };
  std::vector<Step> steps;
  // Of the common dimensions; of a streamed group also of the streamed one, whose part is a chunk,
  // and of the splits, if there are several.
  std::vector<int64_t> extents;
  std::vector<int64_t> part;
  // Of a streamed group: how many of them are common; the first steps, which run per chunk; what
  // they carry.
  int common = -1;
  int body = 0;
  std::vector<StreamedSteps::Carried> carried = {};
  std::vector<StreamBound> bounds = {};
  // What the body may write over the last of its steps that reads it: from the written buffer in
  // memory of the part to the one that it takes the place of.
  std::map<int, int> in_place = {};
  bool has_origins = false;
  std::vector<std::string> buffers;      // identifiers of the pipeline's
  std::vector<ElementType> types;        // and their types
  std::map<int, int64_t> part_elements;  // of those in memory of the part
};

struct JointStage {
  Stage stage;
  std::vector<ScratchBuffer> scratch;  // for this stage
};

// `names` and `shared`: all names that several stages see, to which it adds its own. CPUs: a thread
// computes its share of the parts, with all scratch memory its own. Blocks: every block computes a
// part, or one after the other; temporaries are in shared memory, but for those that do not fit, or
// that are accessed as only device memory can be. What a streamed group carries its steps combine
// in place on blocks; CPUs, whose tiles may compute points twice, from one of two places to the
// other. Accesses of several elements become single ones where parts begin at odd places. Errors:
// InvalidArgument, naming the constraint:
//   - steps have as many threads, or no barriers;
//   - blocks of a step do not wait for each other: no clusters, and no last block;
//   - what steps share among their threads fits into shared memory.
Result<JointStage> BuildJointStage(JointStageParts parts, const DeviceDescription& device,
                                   NameAllocator* names, std::set<std::string>* shared);

}  // namespace mdh
