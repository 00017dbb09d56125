// Designs for the steps of a streamed group in which every thread has the same points in all steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/pipeline/plan/computed_pipeline.h"

namespace mdh {

// Per step of the group, for one block of so many threads. Neighbours, as many in all steps, have a
// row in common, a point of the only common dimension of which a part has several points; each of
// them has points along the other dimension that a step keeps, or along the one that it reduces.
// What steps hand on to each other along rows is then the thread's own, and stays in registers
// (codegen/backends/own_elements.h). Of contractions a thread computes a tile that is as square as
// can be, from copies in shared memory of what it does not find there. `lanes`: threads of a row,
// 0: so many that contractions load least. nullopt: no contraction is
// among the steps, they have other dimensions than these, threads do not divide them, or results do
// not fit into registers.
std::optional<std::vector<TuningParameters>> AlignParts(const JointSteps& joint,
                                                        const SystemModel& model,
                                                        const DeviceDescription& device,
                                                        int64_t threads, int64_t lanes = 0);

}  // namespace mdh
