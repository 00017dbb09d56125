#include "tuner/run/first_points.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "codegen/choose/default_parameters.h"
#include "core/decomposition/constraints.h"
#include "core/schedule/complete_parameters.h"
#include "tuner/decompositions/schedule_check.h"

namespace mdh {
namespace {

constexpr size_t kMostOfRules = 10, kMostOfUnits = 24;

// What is tried beside the word that rules choose.
EarlyLaunches OtherThan(EarlyLaunches early) {
  return early == EarlyLaunches::kCalls ? EarlyLaunches::kStages : EarlyLaunches::kCalls;
}

void AddOtherLaunches(std::vector<StartPoint>* points) {
  const size_t count = points->size();
  for (size_t n = 0; n < count; ++n) {
    StartPoint point = (*points)[n];
    // Copies for matrix units gain from beginning early wherever they can.
    const bool has_unit = point.parameters.unit.rows > 0;
    if (has_unit && point.parameters.early_launches != EarlyLaunches::kStages) continue;
    point.parameters.early_launches = OtherThan(point.parameters.early_launches);
    points->push_back(std::move(point));
  }
}

std::vector<StartPoint> PointsOfRules(const SearchTarget& target,
                                      const std::vector<StartPoint>& given) {
  const auto& [expression, model, device, numerics, schedule, restrictions] = target;
  std::vector<StartPoint> points = {{DefaultParameters(expression, model, device, numerics)}};
  points.insert(points.end(), given.begin(), given.end());
  // Of tiles for matrix units more count as good, and each is measured soon.
  const size_t most = points.front().parameters.unit.rows > 0 ? kMostOfUnits : kMostOfRules;
  std::vector<TuningParameters> rules =
      StartingParameters(expression, model, device, numerics, most);
  for (size_t n = 1; n < rules.size(); ++n) points.push_back({std::move(rules[n])});
  if (HasEarlyLaunches(device)) AddOtherLaunches(&points);
  return points;
}

// The members of the target's space that are nearest to the points.
std::vector<StartPoint> NearestInSpace(const SearchTarget& target,
                                       const std::vector<StartPoint>& points) {
  constexpr int kSamples = 100;
  std::vector<StartPoint> nearest;
  std::vector<TuningParameters> starts;
  for (const StartPoint& point : points) starts.push_back(point.parameters);
  const FusedDimensions fused =
      target.schedule == nullptr ? starts.front().fused : FusedUnder(*target.schedule, starts);
  const Result<MdhSpace> space = SpaceOf(target, fused);
  if (!space.ok()) return nearest;
  const auto add = [&](const Configuration& configuration) {
    StartPoint point{space->Decode(configuration)};
    if (KeepsToSchedule(target, point.parameters).ok()) nearest.push_back(std::move(point));
  };
  for (const StartPoint& point : points) {
    if (IsOfModel(target, point)) add(space->EncodeNearest(point.parameters, point.sizes));
  }
  Rng rng(1);
  for (int n = 0; n < kSamples && nearest.empty(); ++n) add(space->space().Sample(rng));
  return nearest;
}

}  // namespace

Result<MdhSpace> SpaceOf(const SearchTarget& target, const FusedDimensions& fused) {
  MDH_ASSIGN_OR_RETURN(MdhSpace space,
                       MdhSpace::Create(target.expression, target.model, target.device,
                                        target.numerics, {}, fused, target.schedule));
  if (target.restrictions.empty()) return space;
  return space.Restricted(target.restrictions);
}

std::optional<TuningParameters> OnlyCandidate(const SearchTarget& target) {
  if (target.schedule == nullptr || !target.restrictions.empty()) return std::nullopt;
  return CompleteParameters(*target.schedule, target.device, target.numerics);
}

Status KeepsToSchedule(const SearchTarget& target, const TuningParameters& parameters) {
  return target.schedule == nullptr ? absl::OkStatus() : target.schedule->Allows(parameters);
}

std::vector<StartPoint> FirstPoints(const SearchTarget& target,
                                    const std::vector<StartPoint>& given) {
  if (std::optional<TuningParameters> only = OnlyCandidate(target)) return {{*std::move(only)}};
  std::vector<StartPoint> points = PointsOfRules(target, given);
  if (!target.restrictions.empty()) return NearestInSpace(target, points);
  if (target.schedule == nullptr) return points;
  std::vector<StartPoint> kept;
  for (const StartPoint& point : points) {
    const bool is_kept = IsValidOn(target, point) && KeepsToSchedule(target, point.parameters).ok();
    if (is_kept) kept.push_back(point);
  }
  return kept.empty() ? NearestInSpace(target, points) : kept;
}

bool IsOfSameSizes(const SearchTarget& target, const std::vector<StartPoint>& given,
                   const StartPoint& point) {
  if (std::ranges::find(given, point) == given.end()) return false;
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
