// Validate: how blocks of threads compute contractions on matrix units (UnitParameters).
#include "core/decomposition/unit_plan.h"
#include "core/decomposition/validate.h"
#include "core/expression/numerics.h"

namespace mdh {

std::string UnitObstacle(const ChoiceTarget& target, const TuningParameters& p) {
  if (p.numerics != NumericsPolicy::kReassociate) {
    return absl::StrCat("numerics=", Name(p.numerics), " fixes the order in which values combine");
  }
  if (p.scan.threads > 0 || p.keyed.threads > 0) return "scan and keyed compute without units";
  Result<UnitPlan> plan = PlanUnit(target.expression);
  if (!plan.ok()) return std::string(plan.status().message());
  return CutForUnit(p.unit, target.device, p.resident_blocks, &*plan);
}

}  // namespace mdh
