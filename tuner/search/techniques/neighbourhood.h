// Random steps to valid neighbours at distance one.
#pragma once

#include <functional>
#include <optional>

#include "tuner/search/techniques/random_number.h"
#include "tuner/space/search_space.h"

namespace mdh {

// A random neighbour of a configuration that is in the space, among those that `accepts` accepts;
// nullopt if there is none. First a parameter is drawn, all alike, then one of its values, near
// ones more often: parameters with many values do not crowd out those with few.
std::optional<Configuration> RandomNeighbour(
    const SearchSpace& space, const Configuration& configuration, Rng& rng,
    const std::function<bool(const Configuration&)>& accepts);

// A random walk of so many steps.
Configuration RandomWalk(const SearchSpace& space, Configuration configuration, int steps,
                         Rng& rng);

}  // namespace mdh
