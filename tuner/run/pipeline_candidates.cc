#include "tuner/run/pipeline_candidates.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_pipeline.h"
#include "codegen/pipeline_defaults.h"
#include "core/device/system_model.h"
#include "core/expression/progression.h"
#include "core/pipeline/plan/search_plan.h"
#include "tuner/run/trial_history.h"

namespace mdh {
namespace {

Result<Kernel> GenerateKernelOf(const Partition& partition, const DeviceDescription& device,
                                const PipelineParameters& parameters) {
  if (parameters.steps.empty()) return absl::InvalidArgumentError("there are no parameters");
  MDH_ASSIGN_OR_RETURN(const SystemModel model,
                       SystemModelNamed(parameters.steps.front().system_model));
  if (model.kind != device.kind) {
    return absl::InvalidArgumentError("the parameters are for another kind of device");
  }
  for (const TuningParameters& step : parameters.steps) {
    if (step.system_model == model.name) continue;
    return absl::InvalidArgumentError(absl::StrCat("the steps have parameters for '", model.name,
                                                   "' and '", step.system_model, "'"));
  }
  return GeneratePipelineKernel(partition.pipeline, model, device, parameters.steps,
                                parameters.groups);
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
    const bool may_reassociate = Reassociates(options_.numerics);
    const SearchPlan plan = PlanSearch(pipeline_, {.plan = {.may_reassociate = may_reassociate}});
    AddByRules(plan.partitions);
    std::vector<std::pair<const Partition*, std::vector<KnownStep>>> fused;
    for (const Partition& partition : plan.partitions) {
      std::vector<KnownStep> steps = BestKnown(partition);
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
    std::stable_sort(fused.begin(), fused.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    int taken = 0;
    for (const auto& [partition, steps] : fused) {
      if (taken == options_.most_fused) break;
      if (AddWithMore(*partition, steps)) ++taken;
    }
    if (candidates_.empty()) return refusal_;
    return std::move(candidates_);
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
    Add(partitions[rules.partition], std::move(rules.parameters), steps);
  }
  std::vector<KnownStep> BestKnown(const Partition& partition) const {
    std::vector<KnownStep> steps;
    for (const PipelineStep& step : partition.pipeline.steps()) {
      std::optional<KnownStep> known = find_(step.expression);
      steps.push_back(known ? *std::move(known) : ByRules(step.expression));
    }
    return steps;
  }

  bool AddWithMore(const Partition& partition, const std::vector<KnownStep>& steps) {
    const bool is_new = Add(partition, steps);
    const PipelineParameters known = ParametersOf(partition, steps);
    const bool is_likely = partition.is_unfused() || partition.edges == rules_;
    const int most = is_likely ? options_.most_more : options_.most_more_of_others;
    for (const MoreParameters& more : options_.more) {
      int taken = 0;
      for (PipelineParameters& parameters :
           more(pipeline_, partition, device_, options_.numerics, known)) {
        if (taken == most) break;
        if (parameters.steps.size() != steps.size()) continue;
        // Of steps that are computed in other ways nothing is known.
        std::vector<KnownStep> own;
        for (size_t s = 0; s < steps.size(); ++s) {
          const bool is_same = parameters.steps[s] == steps[s].parameters;
          own.push_back(is_same ? steps[s] : KnownStep{parameters.steps[s]});
        }
        if (Add(partition, std::move(parameters), own)) ++taken;
      }
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
    Result<Kernel> kernel = GenerateKernelOf(partition, device_, parameters);
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

Result<ConfiguredPipeline> ConfigurePipeline(const Pipeline& pipeline,
                                             const DeviceDescription& device,
                                             const PipelineParameters& parameters) {
  std::optional<Partition> partition = PartitionWith(pipeline, parameters.edges);
  if (!partition) {
    return absl::InvalidArgumentError(
        absl::StrCat("no partition of pipeline '", pipeline.name(), "' has such edges"));
  }
  MDH_ASSIGN_OR_RETURN(Kernel kernel, GenerateKernelOf(*partition, device, parameters));
  return ConfiguredPipeline{*std::move(partition), std::move(kernel)};
}

}  // namespace mdh
