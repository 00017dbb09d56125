#include "tuner/run/unit_search.h"

#include "codegen/choose/counting/unit_parts.h"
#include "codegen/choose/unit_moves.h"
#include "codegen/choose/unit_variants.h"

namespace mdh {
namespace {

constexpr size_t kRankedUnits = 120;  // configurations that the model proposes
constexpr int kFirstUnits = 24;       // of them before the first neighbour

}  // namespace

UnitSearch::UnitSearch(const Expression& expression, const SystemModel& model,
                       const DeviceDescription& device, const TuningParameters& parameters,
                       const Schedule* schedule)
    : expression_(expression),
      model_(model),
      device_(device),
      schedule_(schedule),
      plan_(PlanUnit(expression, parameters.numerics)),
      ranked_(UnitVariants(expression, model, device, parameters, kRankedUnits)),
      steps_(Knowledge(), ranked_, kFirstUnits) {}

std::optional<double> UnitSearch::Expected(const TuningParameters& p) const {
  UnitPlan plan = *plan_;
  if (!CutForUnit(p.unit, device_, p, &plan).empty()) return std::nullopt;
  return UnitCycles(plan, p, device_);
}

DesignKnowledge<TuningParameters> UnitSearch::Knowledge() const {
  return {.expected = [this](const TuningParameters& p) { return Expected(p); },
          .neighbours =
              [this](const TuningParameters& p) {
                std::vector<TuningParameters> next = UnitMoves(p);
                for (TuningParameters& other : next) {
                  other.unit.parts = WholeParts(*plan_, other.unit.parts);
                }
                return next;
              },
          .is_valid =
              [this](const TuningParameters& p) {
                return Validate(expression_, model_, device_, p).ok();
              },
          .is_wanted =
              [this](const TuningParameters& p) {
                return schedule_ == nullptr || schedule_->Allows(p).ok();
              },
          .text = [](const TuningParameters& p) { return ToText(p); }};
}

}  // namespace mdh
