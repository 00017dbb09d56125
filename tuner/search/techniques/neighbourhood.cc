#include "tuner/search/techniques/neighbourhood.h"

#include <cmath>
#include <utility>
#include <vector>

namespace mdh {
namespace {

double PositionOf(const TuningParameter& parameter, int64_t code) {
  return parameter.range.PositionOf(code).value_or(0);
}

// Position in `changes`, which all are of one parameter, with weights of 1 / distance.
size_t DrawNear(const SearchSpace& space, const Configuration& from,
                const std::vector<Change>& changes, Rng& rng) {
  const auto number = static_cast<size_t>(changes.front().parameter);
  const TuningParameter& parameter = space.parameters()[number];
  const double here = PositionOf(parameter, from[number]);
  std::vector<double> sums;
  double sum = 0;
  for (const Change& change : changes) {
    sum += 1 / std::max(1.0, std::abs(PositionOf(parameter, change.code) - here));
    sums.push_back(sum);
  }
  const double drawn = RandomUnit(rng) * sum;
  size_t at = 0;
  while (at + 1 < sums.size() && sums[at] <= drawn) ++at;
  return at;
}

}  // namespace

std::optional<Configuration> RandomNeighbour(
    const SearchSpace& space, const Configuration& configuration, Rng& rng,
    const std::function<bool(const Configuration&)>& accepts) {
  std::vector<std::vector<Change>> by_parameter;
  for (const Change& change : space.Neighbours(configuration)) {
    if (by_parameter.empty() || by_parameter.back().front().parameter != change.parameter) {
      by_parameter.emplace_back();
    }
    by_parameter.back().push_back(change);
  }
  while (!by_parameter.empty()) {
    const size_t drawn = RandomBelow(rng, by_parameter.size());
    std::vector<Change>& changes = by_parameter[drawn];
    const size_t at = DrawNear(space, configuration, changes, rng);
    Configuration neighbour = configuration;
    neighbour[static_cast<size_t>(changes[at].parameter)] = changes[at].code;
    if (accepts(neighbour)) return neighbour;
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(at));
    if (changes.empty())
      by_parameter.erase(by_parameter.begin() + static_cast<std::ptrdiff_t>(drawn));
  }
  return std::nullopt;
}

Configuration RandomWalk(const SearchSpace& space, Configuration configuration, int steps,
                         Rng& rng) {
  for (int step = 0; step < steps; ++step) {
    std::optional<Configuration> next =
        RandomNeighbour(space, configuration, rng, [](const Configuration&) { return true; });
    if (!next) break;
    configuration = *std::move(next);
  }
  return configuration;
}

}  // namespace mdh
