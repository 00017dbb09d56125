// The generator's cost models as searches ask for them.
#pragma once

#include <memory>

#include "tuner/decompositions/mdh_space.h"
#include "tuner/space/cost_estimate.h"

namespace mdh {

// Of a space of register tiles; nullptr of others, whose designs are searched by their own models
// (tuner/run/design_search.h) before the space is.
std::shared_ptr<const CostEstimate> MdhEstimateOf(const MdhSpace& space);

}  // namespace mdh
