#include "tuner/run/pipeline_candidates.h"

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/choose/default_parameters.h"
#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "codegen/pipeline_defaults.h"
#include "codegen/said_pipeline.h"
#include "core/device/system_model.h"
#include "core/expression/progression.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/schedule/complete_parameters.h"
#include "tuner/decompositions/schedule_check.h"
#include "tuner/run/trial_history.h"

namespace mdh {
namespace {

Result<Kernel> GenerateKernelOf(const Pipeline& pipeline, const Partition& partition,
                                const DeviceDescription& device,
                                const PipelineParameters& parameters) {
  if (parameters.steps.empty()) return InvalidArgument("there are no parameters");
  MDH_ASSIGN_OR_RETURN(const SystemModel model,
                       SystemModelNamed(parameters.steps.front().system_model));
  if (model.kind != device.kind) {
    return InvalidArgument("the parameters are for another kind of device");
  }
  for (const TuningParameters& step : parameters.steps) {
    if (step.system_model == model.name) continue;
    return InvalidArgument("the steps have parameters for '", model.name, "' and '",
                           step.system_model, "'");
  }
  return GeneratePipelineKernel(partition.pipeline, model, device, parameters.steps,
                                parameters.groups,
                                PipelineSchedule::LinesOf(pipeline, partition, parameters.groups));
}

class Candidates {
 public:
  Candidates(const Pipeline& pipeline, const DeviceDescription& device, const FindKnownStep& find,
             const PipelineCandidateOptions& options)
      : pipeline_(pipeline),
        device_(device),
        model_(TuningModel(device.kind)),
        find_(find),
        options_(options) {}

  Result<std::vector<PipelineCandidate>> All() {
    SearchPlanOptions options = {.plan = {.may_reassociate = Reassociates(options_.numerics)}};
    if (options_.schedule != nullptr) {
      options = options_.schedule->Under(std::move(options));
      if (auto said = CompleteParameters(*options_.schedule, device_, options_.numerics)) {
        return Only(*std::move(said));
      }
    }
    const SearchPlan plan = PlanSearch(pipeline_, options);
    if (plan.partitions.empty()) return NothingIsLeft();
    AddByRules(plan.partitions);
    std::vector<std::pair<const Partition*, std::vector<KnownStep>>> fused;
    for (const Partition& partition : plan.partitions) {
      std::vector<KnownStep> steps = BestKnown(partition, {});
      if (steps.empty()) continue;
      if (partition.is_unfused()) {
        AddWithMore(partition, steps);
      } else {
        fused.emplace_back(&partition, std::move(steps));
      }
    }
    // Those that were not measured come last.
    const auto rank = [](const auto& candidate) {
      const int64_t time_ns = TimeOf(candidate.second);
      return std::pair(time_ns == 0, time_ns);
    };
    std::ranges::stable_sort(fused,
                             [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    int taken = 0;
    for (const auto& [partition, steps] : fused) {
      if (taken == options_.most_fused) break;
      if (AddWithMore(*partition, steps)) ++taken;
    }
    if (!candidates_.empty()) return std::move(candidates_);
    return refusal_.ok() ? NothingIsLeft() : refusal_;
  }

  static int64_t TimeOf(const std::vector<KnownStep>& steps) {
    int64_t time_ns = 0;
    for (const KnownStep& step : steps) {
      if (step.time_ns == 0) return 0;
      time_ns = AddOrLargest(time_ns, step.time_ns);
    }
    return time_ns;
  }

 private:
  KnownStep ByRules(const Expression& step) const {
    return {DefaultParameters(step, model_, device_, PolicyFor(step, options_.numerics))};
  }
  void AddByRules(const std::vector<Partition>& partitions) {
    PipelineDefaults rules =
        DefaultPipelineParameters(partitions, model_, device_, options_.numerics);
    std::vector<KnownStep> steps;
    for (const TuningParameters& step : rules.parameters.steps) steps.push_back({step});
    rules_ = rules.parameters.edges;
    if (!Keeps(rules.parameters)) return;
    Add(partitions[rules.partition], std::move(rules.parameters), steps);
  }
  // Those that the schedule says completely, and no others.
  Result<std::vector<PipelineCandidate>> Only(PipelineParameters said) {
    const std::optional<Partition> partition = PartitionWith(pipeline_, said.edges);
    if (!partition) return NothingIsLeft();
    std::vector<KnownStep> steps;
    for (const TuningParameters& step : said.steps) steps.push_back({step});
    Add(*partition, std::move(said), steps);
    if (candidates_.empty()) return refusal_;
    return std::move(candidates_);
  }

  static Status NothingIsLeft() {
    return FailedPrecondition("no way to compute the pipeline keeps to the schedule");
  }

  bool Keeps(const PipelineParameters& parameters) const {
    return options_.schedule == nullptr || options_.schedule->Allows(parameters).ok();
  }

  bool KeepsGroups(const Partition& partition, const std::vector<JointGroup>& groups) const {
    return options_.schedule == nullptr ||
           options_.schedule->AllowsGroups(partition.pipeline, groups).ok();
  }

  // Of steps by themselves what is known; of others as `given` has them, unless lines are about
  // them. Empty: nothing keeps to these.
  std::vector<KnownStep> BestKnown(const Partition& partition,
                                   const std::vector<JointGroup>& groups,
                                   const std::vector<TuningParameters>& given = {}) const {
    std::vector<Schedule> said;
    if (options_.schedule != nullptr) {
      auto of_steps = options_.schedule->OfSteps(partition.pipeline, groups);
      if (!of_steps.ok()) return {};
      said = *std::move(of_steps);
    }
    std::vector<KnownStep> steps;
    for (size_t s = 0; s < partition.pipeline.steps().size(); ++s) {
      const Expression& step = partition.pipeline.steps()[s].expression;
      if (!said.empty() && !said[s].is_free()) {
        std::optional<KnownStep> kept = BestUnder(said[s]);
        if (!kept) return {};
        steps.push_back(*std::move(kept));
      } else if (IsIn(groups, static_cast<int>(s)) && s < given.size()) {
        steps.push_back({given[s]});
      } else {
        std::optional<KnownStep> known = find_(step);
        steps.push_back(known ? *std::move(known) : ByRules(step));
      }
    }
    return steps;
  }

  std::optional<KnownStep> BestUnder(const Schedule& schedule) const {
    const NumericsPolicy numerics = PolicyFor(schedule.expression(), options_.numerics);
    const bool is_complete = CompleteParameters(schedule, device_, numerics).has_value();
    if (options_.find_scheduled && !is_complete) {
      if (auto known = options_.find_scheduled(schedule)) return known;
    }
    std::optional<TuningParameters> one = OneUnder(schedule, device_, numerics);
    return one ? std::optional(KnownStep{*std::move(one)}) : std::nullopt;
  }

  static bool IsIn(const std::vector<JointGroup>& groups, int step) {
    return std::ranges::any_of(
        groups, [&](const JointGroup& group) { return step >= group.first && step <= group.last; });
  }

  bool AddWithMore(const Partition& partition, const std::vector<KnownStep>& steps) {
    bool is_new = KeepsGroups(partition, {}) && Add(partition, steps);
    is_new = AddNamedGroups(partition) || is_new;
    const PipelineParameters known = ParametersOf(partition, steps);
    const bool is_likely = partition.is_unfused() || partition.edges == rules_;
    const int most = is_likely ? options_.most_more : options_.most_more_of_others;
    for (const MoreParameters& more : options_.more) {
      int taken = 0;
      for (PipelineParameters& parameters :
           more(pipeline_, partition, device_, options_.numerics, known)) {
        if (taken == most) break;
        if (parameters.steps.size() != steps.size()) continue;
        if (!KeepsGroups(partition, parameters.groups)) continue;
        if (AddMore(partition, std::move(parameters), steps)) ++taken;
      }
    }
    return is_new;
  }

  // Lines about steps hold in groups, too.
  bool AddMore(const Partition& partition, PipelineParameters parameters,
               const std::vector<KnownStep>& steps) {
    if (options_.schedule != nullptr && !Keeps(parameters)) {
      const std::vector<KnownStep> kept = BestKnown(partition, parameters.groups, parameters.steps);
      if (kept.empty()) return false;
      for (size_t s = 0; s < kept.size(); ++s) parameters.steps[s] = kept[s].parameters;
    }
    // Of steps that are computed in other ways nothing is known.
    std::vector<KnownStep> own;
    for (size_t s = 0; s < steps.size(); ++s) {
      const bool is_same = parameters.steps[s] == steps[s].parameters;
      own.push_back(is_same ? steps[s] : KnownStep{parameters.steps[s]});
    }
    return Add(partition, std::move(parameters), own);
  }

  // Groups that the schedule names, with parts that a search would perhaps not try.
  bool AddNamedGroups(const Partition& partition) {
    constexpr size_t kMost = 8;
    if (options_.schedule == nullptr || !options_.schedule->names_groups()) return false;
    const auto ways = SaidGroups(*options_.schedule, partition, device_, kMost);
    if (!ways.ok()) refusal_.Update(ways.status());
    bool is_new = false;
    for (size_t w = 0; ways.ok() && w < ways->size(); ++w) {
      const std::vector<JointGroup>& groups = (*ways)[w];
      const auto rules =
          DefaultParameters(partition.pipeline, groups, model_, device_, options_.numerics);
      if (!rules.ok()) refusal_.Update(rules.status());
      if (!rules.ok()) continue;
      const std::vector<KnownStep> steps = BestKnown(partition, groups, *rules);
      if (steps.empty()) continue;
      PipelineParameters parameters = ParametersOf(partition, steps);
      parameters.groups = groups;
      is_new = Add(partition, std::move(parameters), steps) || is_new;
    }
    return is_new;
  }

  static PipelineParameters ParametersOf(const Partition& partition,
                                         const std::vector<KnownStep>& steps) {
    PipelineParameters parameters = {.edges = partition.edges, .groups = {}, .steps = {}};
    for (const KnownStep& step : steps) parameters.steps.push_back(step.parameters);
    return parameters;
  }

  bool Add(const Partition& partition, const std::vector<KnownStep>& steps) {
    return Add(partition, ParametersOf(partition, steps), steps);
  }

  // False if there is no kernel, or no new one.
  bool Add(const Partition& partition, PipelineParameters parameters,
           const std::vector<KnownStep>& steps) {
    Result<Kernel> kernel = GenerateKernelOf(pipeline_, partition, device_, parameters);
    if (!kernel.ok()) {
      refusal_.Update(kernel.status());
      return false;
    }
    const auto [known, is_new] = known_.try_emplace(IdentityOf(*kernel), candidates_.size());
    if (!is_new) {
      // The best that is known may be what rules say; then it was measured, too.
      PipelineCandidate& same = candidates_[known->second];
      const bool is_same = same.partition.edges == partition.edges;
      if (is_same && same.steps_time_ns() == 0) same.steps = steps;
      return false;
    }
    candidates_.push_back({partition, std::move(parameters), steps, *std::move(kernel)});
    return true;
  }

  const Pipeline& pipeline_;
  const DeviceDescription& device_;
  const SystemModel model_;
  const FindKnownStep& find_;
  const PipelineCandidateOptions& options_;
  std::vector<PipelineCandidate> candidates_;
  std::vector<PlannedEdge> rules_;       // of the partition that rules take
  std::map<std::string, size_t> known_;  // their numbers by the identities of their kernels
  Status refusal_;                       // of the first that the generator refused
};

}  // namespace

int64_t PipelineCandidate::steps_time_ns() const { return Candidates::TimeOf(steps); }

Result<std::vector<PipelineCandidate>> PipelineCandidates(const Pipeline& pipeline,
                                                          const DeviceDescription& device,
                                                          const FindKnownStep& find,
                                                          const PipelineCandidateOptions& options) {
  return Candidates(pipeline, device, find, options).All();
}

std::optional<TuningParameters> OneUnder(const Schedule& schedule, const DeviceDescription& device,
                                         NumericsPolicy numerics) {
  if (auto said = CompleteParameters(schedule, device, numerics)) return said;
  for (TuningParameters& start :
       StartingParameters(schedule.expression(), schedule.model(), device, numerics)) {
    if (schedule.Allows(start).ok()) return std::move(start);
  }
  const Result<ScheduleCheck> check =
      CheckSchedule(device, schedule, numerics, /*most_ms=*/std::nullopt);
  if (!check.ok() || check->example.empty()) return std::nullopt;
  Result<TuningParameters> example = ParseTuningParameters(check->example);
  return example.ok() ? std::optional(*std::move(example)) : std::nullopt;
}

Result<ConfiguredPipeline> ConfigurePipeline(const Pipeline& pipeline,
                                             const DeviceDescription& device,
                                             const PipelineParameters& parameters) {
  std::optional<Partition> partition = PartitionWith(pipeline, parameters.edges);
  if (!partition) {
    return InvalidArgument("no partition of pipeline '", pipeline.name(), "' has such edges");
  }
  MDH_ASSIGN_OR_RETURN(Kernel kernel, GenerateKernelOf(pipeline, *partition, device, parameters));
  return ConfiguredPipeline{*std::move(partition), std::move(kernel)};
}

}  // namespace mdh
