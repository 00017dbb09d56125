// Designs for one block of threads that computes a part of a pipeline alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/choose/block_design.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Expects a model with explicit memory. All of the part by one block of so many threads, a power of
// two, or of fewer where there are not as many points: neighbours along what is contiguous, along
// reductions where the results of the part are too few, or lie apart from what is read in rows.
// Of contractions, whose inputs do not all depend on the same dimensions of results, a thread
// computes a tile of neighbours in registers. `in_part`, per input of the part: whether it is in
// memory of the part, shared memory perhaps; none: none is. Others are read from device memory and
// its caches, but for what neighbours along the results' rows read of a contraction, which is
// copied to shared memory as it is. nullopt: the rules of designs do not say how, as of prefix
// sums, or such parameters are not valid.
std::optional<TuningParameters> DesignPart(const Expression& part, const SystemModel& model,
                                           const DeviceDescription& device, int64_t threads,
                                           const std::vector<bool>& in_part = {});

// Other ways to compute the part by so many threads, the likeliest first, all different: tiles of
// the next costs by counting, and what the cost model of whole blocks holds to be best
// (codegen/choose/block_candidates.h). At most `most`.
std::vector<TuningParameters> OtherDesigns(const Expression& part, const SystemModel& model,
                                           const DeviceDescription& device, int64_t threads,
                                           const std::vector<bool>& in_part, size_t most);

// What a thread reads of the input for the points of the reduction that are unrolled it loads into
// registers, as vectors where elements are neighbours. Expects the parameters of the design, with
// one table of regions per input.
void LoadIntoRegisters(const BlockDesign& design, const SystemModel& model, int input,
                       TuningParameters* parameters);

// The device as one part sees it: one core, or one block of so many threads.
DeviceDescription OnePart(DeviceDescription device, int64_t threads);

// Threads of the block that computes the part with these parameters; 1 of CPUs, and where they are
// not valid.
int64_t ThreadsOfPart(const Expression& part, const SystemModel& model,
                      const DeviceDescription& device, const TuningParameters& parameters);

// Of what is done once per part, behind the chunks of a streamed dimension or behind its splits:
// each result by one of so many threads, a power of two, without barriers, so that it can run in a
// block of any size.
TuningParameters ParametersBehindChunks(const Expression& part, const SystemModel& model,
                                        const DeviceDescription& device, int64_t threads);

}  // namespace mdh
