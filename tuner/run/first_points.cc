#include "tuner/run/first_points.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "codegen/choose/default_parameters.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

constexpr size_t kMostOfRules = 10, kMostOfUnits = 24;

void AddEarlyCalls(std::vector<StartPoint>* points) {
  const size_t count = points->size();
  for (size_t n = 0; n < count; ++n) {
    StartPoint point = (*points)[n];
    if (point.parameters.early_launches != EarlyLaunches::kStages) continue;
    point.parameters.early_launches = EarlyLaunches::kCalls;
    points->push_back(std::move(point));
  }
}

}  // namespace

std::vector<StartPoint> FirstPoints(const SearchTarget& target,
                                    const std::vector<StartPoint>& given) {
  const auto& [expression, model, device, numerics] = target;
  std::vector<StartPoint> points = {{DefaultParameters(expression, model, device, numerics)}};
  points.insert(points.end(), given.begin(), given.end());
  // Of tiles for matrix units more count as good, and each is measured soon.
  const size_t most = points.front().parameters.unit.rows > 0 ? kMostOfUnits : kMostOfRules;
  std::vector<TuningParameters> rules =
      StartingParameters(expression, model, device, numerics, most);
  for (size_t n = 1; n < rules.size(); ++n) points.push_back({std::move(rules[n])});
  if (HasEarlyLaunches(device)) AddEarlyCalls(&points);
  return points;
}

bool IsOfSameSizes(const SearchTarget& target, const std::vector<StartPoint>& given,
                   const StartPoint& point) {
  if (std::find(given.begin(), given.end(), point) == given.end()) return false;
  const std::vector<Dimension>& dimensions = target.expression.dimensions();
  return point.sizes.empty() ||
         std::equal(point.sizes.begin(), point.sizes.end(), dimensions.begin(),
                    [](int64_t size, const Dimension& d) { return size == d.size; });
}

bool IsOfModel(const SearchTarget& target, const StartPoint& point) {
  return point.parameters.system_model == target.model.name &&
         point.parameters.tile.size() == target.model.layers.size() &&
         static_cast<int>(point.parameters.tile[0].size()) == target.expression.rank();
}

bool IsValidOn(const SearchTarget& target, const StartPoint& point) {
  return IsOfModel(target, point) && point.parameters.numerics == target.numerics &&
         Validate(target.expression, target.model, target.device, point.parameters).ok();
}

}  // namespace mdh
