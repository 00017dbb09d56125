#include "tuner/run/design_search.h"

#include <utility>

#include "core/decomposition/tuning_parameters.h"

namespace mdh {
namespace {

constexpr int kRanked = 160;        // designs that the model proposes
constexpr int kEvaluations = 5000;  // of the model, per start
constexpr int kFirst = 40;          // of them before the first neighbour

std::vector<BlockDesign> RankedDesigns(const Expression& expression, const SystemModel& model,
                                       const DeviceDescription& device) {
  std::vector<BlockDesign> designs;
  for (BlockCandidate& candidate : BlockCandidates(
           expression, model, device, {.count = kRanked, .evaluations = kEvaluations})) {
    designs.push_back(std::move(candidate.design));
  }
  return designs;
}

}  // namespace

DesignSearch::DesignSearch(const Expression& expression, const SystemModel& model,
                           const DeviceDescription& device, const Schedule* schedule)
    : expression_(expression),
      model_(model),
      device_(device),
      schedule_(schedule),
      costs_(expression, device),
      moves_(
          expression, device,
          {.choices = true, .lane_tiles = true, .thirds = true, .full_waves = true, .fits = true}),
      ranked_(RankedDesigns(expression, model, device)),
      steps_(Knowledge(), ranked_, kFirst) {}

DesignKnowledge<BlockDesign> DesignSearch::Knowledge() const {
  return {.expected = [this](const BlockDesign& design) -> std::optional<double> {
            const BlockCost cost = costs_.Estimate(design);
            return cost.fits ? std::optional<double>(cost.total) : std::nullopt;
          },
          .neighbours = [this](const BlockDesign& design) { return moves_.Neighbours(design); },
          .is_valid =
              [this](const BlockDesign& design) {
                const TuningParameters p = ToParameters(expression_, model_, device_, design);
                return Validate(expression_, model_, device_, p).ok();
              },
          .is_wanted =
              [this](const BlockDesign& design) {
                return schedule_ == nullptr ||
                       schedule_->Allows(ToParameters(expression_, model_, device_, design)).ok();
              },
          .text = [this](const BlockDesign& design) { return ToString(expression_, design); }};
}

std::optional<BlockCandidate> DesignSearch::Ask() {
  std::optional<BlockDesign> design = steps_.Ask();
  if (!design.has_value()) return std::nullopt;
  TuningParameters parameters = ToParameters(expression_, model_, device_, *design);
  const BlockCost cost = costs_.Estimate(*design);
  return BlockCandidate{*std::move(design), cost, std::move(parameters)};
}

}  // namespace mdh
