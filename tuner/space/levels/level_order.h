// The order in which parameters are chosen, by the graph of the constraints: components one after
// the other, and inside a component such that prefixes can be told apart by few values.
#pragma once

#include <vector>

#include "tuner/space/constraints/operation_graph.h"

namespace mdh {

// Parameters by level, a permutation of 0..sizes.size()-1. `sizes`: of the parameters' ranges.
// Parameters of one component follow each other; parameters without constraints come last.
std::vector<int> OrderParameters(const OperationGraph& graph,
                                 const std::vector<RootCondition>& roots,
                                 const std::vector<double>& sizes);

}  // namespace mdh
