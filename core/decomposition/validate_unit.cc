// Validate: how blocks of threads compute contractions on matrix units (UnitParameters).
#include <algorithm>

#include "core/decomposition/constraints.h"
#include "core/decomposition/unit_plan.h"
#include "core/decomposition/validate.h"
#include "core/expression/numerics.h"

namespace mdh {
namespace {

constexpr int kMostUnitGroups = 4;
constexpr int kFewestUnitStages = 3;  // one is multiplied, one may be still, one is copied
constexpr int kMostUnitStages = 8;
constexpr int kMostUnitParts = 64;
constexpr int64_t kMostUnitSums = 200;        // of a thread: some registers are for all else
constexpr int64_t kRegistersBesideSums = 40;  // idem

std::string UnitCountsObstacle(const UnitParameters& u) {
  if (u.groups < 1 || u.groups > kMostUnitGroups) {
    return absl::StrCat("groups: ", u.groups, " is not in 1..", kMostUnitGroups);
  }
  if (u.rows < 1 || u.rows % (kUnitRows * u.groups) != 0) {
    return absl::StrCat("rows: ", u.rows, " is no multiple of ", kUnitRows, " for each of ",
                        u.groups, " groups");
  }
  if (u.columns < 16 || u.columns > kUnitMostColumns || u.columns % 16 != 0) {
    return absl::StrCat("columns: ", u.columns, " is no multiple of 16 in 16..", kUnitMostColumns);
  }
  if (u.stages < kFewestUnitStages || u.stages > kMostUnitStages) {
    return absl::StrCat("stages: ", u.stages, " is not in ", kFewestUnitStages, "..",
                        kMostUnitStages);
  }
  if (u.parts < 1 || u.parts > kMostUnitParts) {
    return absl::StrCat("parts: ", u.parts, " is not in 1..", kMostUnitParts);
  }
  return "";
}

}  // namespace

std::string UnitObstacle(const ChoiceTarget& target, const TuningParameters& p) {
  const UnitParameters& unit = p.unit;
  if (p.numerics != NumericsPolicy::kReassociate) {
    return absl::StrCat("numerics=", Name(p.numerics), " fixes the order in which values combine");
  }
  if (p.scan.threads > 0 || p.keyed.threads > 0) return "scan and keyed compute without units";
  if (std::string why = UnitCountsObstacle(unit); !why.empty()) return why;
  const Result<UnitPlan> plan = PlanUnit(target.expression, unit);
  if (!plan.ok()) return std::string(plan.status().message());
  const BlockLimits& limits = target.device.blocks;
  const int64_t threads = kUnitThreads * unit.groups;
  const int64_t registers = RegistersPerThread(limits, threads, p.resident_blocks);
  return FirstExceeded({{"bytes of shared memory of a block",
                         UnitSharedBytes(unit) + (p.resident_blocks > 1 ? kReservedSharedBytes : 0),
                         limits.shared_bytes_per_block / std::max(1, p.resident_blocks)},
                        {"sums of a thread", UnitSums(unit),
                         std::min(kMostUnitSums, registers - kRegistersBesideSums)},
                        {"blocks of the grid", plan->blocks(unit), limits.max_grid[0]}});
}

}  // namespace mdh
