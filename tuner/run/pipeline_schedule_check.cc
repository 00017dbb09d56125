#include "tuner/run/pipeline_schedule_check.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/joint_parameters.h"
#include "codegen/said_pipeline.h"
#include "core/expression/canonical.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/pipeline/schedule/fusion_conflict.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/schedule/schedule_key.h"
#include "tuner/run/pipeline_candidates.h"

namespace mdh {
namespace {

constexpr size_t kMostNamedGroups = 8;

class PipelineCheck {
 public:
  PipelineCheck(const DeviceDescription& device, const PipelineSchedule& schedule,
                NumericsPolicy numerics, std::optional<int64_t> most_ms)
      : device_(device), schedule_(schedule), numerics_(numerics), most_ms_(most_ms) {
    check_.canonical = schedule.CanonicalText();
  }

  Result<ScheduleCheck> Run() {
    const PlanOptions plan = {.may_reassociate = Reassociates(numerics_)};
    if (const auto said = CompleteParameters(schedule_, device_, numerics_)) {
      check_.count = 1;
      check_.example = ToText(*said);
      return std::move(check_);
    }
    if (const std::optional<FusionConflict> conflict = FindFusionConflict(schedule_, plan)) {
      check_.conflicts = {{.lines = conflict->lines, .rule = conflict->text}};
      return std::move(check_);
    }
    const SearchPlan searched =
        PlanSearch(schedule_.pipeline(), schedule_.Under(SearchPlanOptions{.plan = plan}));
    for (const Partition& partition : searched.partitions) {
      MDH_RETURN_IF_ERROR(CountPartition(partition));
    }
    if (check_.count > 0) check_.conflicts.clear();
    if (check_.count == 0 && check_.conflicts.empty()) {
      check_.conflicts = {{.rule = "no way to compute the pipeline keeps to the schedule"}};
    }
    SetExample();
    return std::move(check_);
  }

 private:
  // One for each candidate: of no group, of groups that are named, or of those that are tried.
  Status CountPartition(const Partition& partition) {
    std::vector<std::vector<JointGroup>> ways;
    if (schedule_.AllowsGroups(partition.pipeline, {}).ok()) ways.emplace_back();
    if (schedule_.names_groups()) {
      const auto named = SaidGroups(schedule_, partition, device_, kMostNamedGroups);
      if (!named.ok()) AddConflict(std::string(named.status().message()));
      if (named.ok()) ways.insert(ways.end(), named->begin(), named->end());
    }
    for (PipelineParameters& tried :
         JointCandidates(partition, schedule_.model(), device_, numerics_)) {
      const bool is_new = std::ranges::find(ways, tried.groups) == ways.end();
      if (!is_new || !schedule_.AllowsGroups(partition.pipeline, tried.groups).ok()) continue;
      ways.push_back(std::move(tried.groups));
    }
    for (const std::vector<JointGroup>& groups : ways) {
      // What contradicts in the first way would be told again for parts of it.
      tells_conflicts_ = &groups == &ways.front();
      MDH_RETURN_IF_ERROR(CountWay(partition, groups));
    }
    tells_conflicts_ = true;
    return absl::OkStatus();
  }

  Status CountWay(const Partition& partition, const std::vector<JointGroup>& groups) {
    const auto steps = schedule_.OfSteps(partition.pipeline, groups);
    if (!steps.ok()) {
      AddConflict(std::string(steps.status().message()));
      return absl::OkStatus();
    }
    Count product = 1;
    for (size_t s = 0; s < steps->size() && product > 0; ++s) {
      const bool is_in_group = std::ranges::any_of(groups, [&](const JointGroup& group) {
        return static_cast<int>(s) >= group.first && static_cast<int>(s) <= group.last;
      });
      // Steps of groups are as rules have them.
      const Schedule& step = (*steps)[s];
      if ((is_in_group && step.is_free()) || step.expression().is_empty()) continue;
      MDH_ASSIGN_OR_RETURN(const Count count, CountStep(step));
      product *= is_in_group ? Count(count > 0 ? 1 : 0) : count;
    }
    check_.count += product;
    return absl::OkStatus();
  }

  Result<Count> CountStep(const Schedule& step) {
    const std::pair<std::string, std::string> key(CanonicalForm(step.expression()),
                                                  KeyScheduleOf(step));
    if (const auto known = counts_.find(key); known != counts_.end()) return known->second;
    MDH_ASSIGN_OR_RETURN(
        ScheduleCheck check,
        CheckSchedule(device_, step, PolicyFor(step.expression(), numerics_), most_ms_));
    check_.is_exact = check_.is_exact && check.is_exact;
    for (ScheduleConflict& conflict : check.conflicts) AddConflict(std::move(conflict));
    return counts_.emplace(key, check.count).first->second;
  }

  void AddConflict(std::string text) { AddConflict(ScheduleConflict{.rule = std::move(text)}); }

  void AddConflict(ScheduleConflict conflict) {
    if (!tells_conflicts_) return;
    for (const ScheduleConflict& known : check_.conflicts) {
      if (known.rule == conflict.rule && known.lines == conflict.lines) return;
    }
    check_.conflicts.push_back(std::move(conflict));
  }

  void SetExample() {
    if (check_.count == 0) return;
    const auto candidates = PipelineCandidates(
        schedule_.pipeline(), device_, [](const Expression&) { return std::nullopt; },
        {.numerics = numerics_, .most_fused = 1, .more = {}, .schedule = &schedule_});
    if (candidates.ok()) check_.example = ToText(candidates->front().parameters);
  }

  const DeviceDescription& device_;
  const PipelineSchedule& schedule_;
  const NumericsPolicy numerics_;
  const std::optional<int64_t> most_ms_;
  bool tells_conflicts_ = true;
  std::map<std::pair<std::string, std::string>, Count> counts_;
  ScheduleCheck check_;
};

}  // namespace

Result<ScheduleCheck> CheckSchedule(const DeviceDescription& device,
                                    const PipelineSchedule& schedule, NumericsPolicy numerics,
                                    std::optional<int64_t> most_ms) {
  return PipelineCheck(device, schedule, numerics, most_ms).Run();
}

}  // namespace mdh
