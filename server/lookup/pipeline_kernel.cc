#include "server/lookup/pipeline_kernel.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/generate_pipeline.h"
#include "codegen/pipeline_defaults.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/canonical.h"
#include "core/expression/numerics.h"
#include "core/expression/progression.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/text/pipeline_parser.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/records/kernel_key.h"
#include "server/records/pipeline_record.h"
#include "server/records/tuning_result_conversion.h"

namespace mdh {
namespace {

// A partition, and what is known of its steps.
struct Candidate {
  const Partition* partition;
  std::vector<v1::LookupKernelResponse> steps;
  int64_t time_ns = 0;                  // sum of the steps' times; 0: some were not measured
  std::vector<JointGroup> groups = {};  // whose steps are as rules say, not as they were found
};

NumericsPolicy NumericsOf(const WantedPipeline& wanted) {
  return static_cast<NumericsPolicy>(std::max(wanted.numerics, v1::NUMERICS_POLICY_REASSOCIATE));
}

class PipelineChoice {
 public:
  PipelineChoice(const WantedPipeline& wanted, const FindStep& find)
      : wanted_(wanted),
        find_(find),
        plan_(PlanSearch(wanted.pipeline,
                         {.plan = {.may_reassociate = Reassociates(
                                       static_cast<NumericsPolicy>(wanted.numerics))}})) {}

  Result<v1::LookupKernelResponse> Run() {
    const v1::MatchKind measured = wanted_.weakest == v1::MATCH_KIND_COMPATIBLE
                                       ? v1::MATCH_KIND_COMPATIBLE
                                       : v1::MATCH_KIND_EXACT;
    MDH_ASSIGN_OR_RETURN(std::vector<Candidate> candidates, Candidates(measured));
    for (const Candidate& candidate : candidates) {
      if (candidate.partition->is_unfused()) unfused_time_ns_ = candidate.time_ns;
    }
    SortByTime(candidates);
    const bool may_be_made =
        wanted_.weakest == v1::MATCH_KIND_NEAREST || wanted_.weakest == v1::MATCH_KIND_PREDICTED;
    if (candidates.empty() && may_be_made) {
      MDH_ASSIGN_OR_RETURN(candidates, Candidates(wanted_.weakest));
      if (wanted_.weakest == v1::MATCH_KIND_PREDICTED) PreferRules(candidates);
    }
    if (candidates.empty()) return Missing();
    // One that the generator refuses leaves the others.
    Result<v1::LookupKernelResponse> made = Make(candidates.front());
    for (size_t c = 1; c < candidates.size() && !made.ok(); ++c) made = Make(candidates[c]);
    return made;
  }

 private:
  // Those that were not measured come last.
  static void SortByTime(std::vector<Candidate>& candidates) {
    const auto rank = [](const Candidate& candidate) {
      return std::pair(candidate.time_ns == 0, candidate.time_ns);
    };
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  }

  // The partitions all of whose steps are found, in the order of the plan.
  Result<std::vector<Candidate>> Candidates(v1::MatchKind weakest) {
    std::map<std::string, Result<v1::LookupKernelResponse>> found;  // by canonical form
    std::vector<Candidate> candidates;
    for (const Partition& partition : plan_.partitions) {
      Candidate candidate{&partition, {}};
      bool is_complete = true;
      bool is_measured = true;
      for (const PipelineStep& step : partition.pipeline.steps()) {
        const Expression& expression = step.expression;
        std::string form = CanonicalForm(expression);
        // What computes nothing has no record.
        const bool is_empty = expression.points() == 0;
        auto known = found.find(form);
        if (known == found.end()) {
          known = found
                      .emplace(std::move(form),
                               find_(expression, is_empty ? v1::MATCH_KIND_PREDICTED : weakest))
                      .first;
        }
        const Result<v1::LookupKernelResponse>& step_found = known->second;
        if (!step_found.ok() && !absl::IsNotFound(step_found.status())) return step_found.status();
        // Of a step that was searched in steps itself (AsPlanned) there are no parameters.
        const bool has_parameters =
            step_found.ok() && !HoldsPipeline(step_found->record().expression_text());
        is_complete = is_complete && has_parameters;
        if (!has_parameters) {
          missing_.insert(expression.name());
          continue;
        }
        const int64_t time_ns = TimeOf(*step_found);
        is_measured = is_measured && (time_ns > 0 || is_empty);
        candidate.time_ns = AddOrLargest(candidate.time_ns, time_ns);
        candidate.steps.push_back(*step_found);
      }
      if (!is_measured) candidate.time_ns = 0;
      if (is_complete) candidates.push_back(std::move(candidate));
    }
    return candidates;
  }

  // The partition that rules take comes first, with steps that run together as they say.
  void PreferRules(std::vector<Candidate>& candidates) const {
    const SystemModel model = TuningModel(wanted_.device.kind);
    PipelineDefaults rules =
        DefaultPipelineParameters(plan_.partitions, model, wanted_.device, NumericsOf(wanted_));
    const auto chosen = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) {
      return c.partition == &plan_.partitions[rules.partition];
    });
    if (chosen == candidates.end()) return;
    Candidate first = *chosen;
    first.groups = std::move(rules.parameters.groups);
    for (const JointGroup& group : first.groups) {
      for (int s = group.first; s <= group.last; ++s) {
        v1::LookupKernelResponse& step = first.steps[s];
        step.set_match(v1::MATCH_KIND_PREDICTED);
        step.set_provenance(v1::KERNEL_PROVENANCE_RULES);
        step.clear_made_from();
        step.mutable_record()->clear_name();
        step.mutable_record()->set_parameters(ToText(rules.parameters.steps[s]));
      }
    }
    candidates.insert(candidates.begin(), std::move(first));
  }

  // As it was measured for exactly this step.
  static int64_t TimeOf(const v1::LookupKernelResponse& found) {
    return found.provenance() == v1::KERNEL_PROVENANCE_MEASURED ? found.record().time_ns() : 0;
  }

  Status Missing() const {
    const std::string steps = absl::StrJoin(missing_, ", ");
    return WithReason(absl::NotFoundError(absl::StrCat(
                          "no way to compute pipeline '", wanted_.pipeline.name(),
                          "' has records for all of its steps on the device; there is none for: ",
                          steps, ". Tuning the pipeline makes them")),
                      "STEPS_WITHOUT_RECORDS", {{"steps", steps}});
  }

  Result<v1::LookupKernelResponse> Make(const Candidate& candidate) const {
    const v1::KernelKey key =
        MakeKernelKey(wanted_.pipeline, KeyEnvironment::Of(wanted_.device), wanted_.numerics);
    std::vector<TuningParameters> parameters;
    for (const v1::LookupKernelResponse& step : candidate.steps) {
      MDH_ASSIGN_OR_RETURN(parameters.emplace_back(),
                           ParseTuningParameters(step.record().parameters()));
    }
    MDH_ASSIGN_OR_RETURN(const SystemModel model,
                         SystemModelNamed(parameters.front().system_model));
    MDH_ASSIGN_OR_RETURN(
        const Kernel kernel,
        GeneratePipelineKernel(
            candidate.partition->pipeline, model, wanted_.device, parameters, candidate.groups,
            PipelineSchedule::LinesOf(wanted_.pipeline, *candidate.partition, candidate.groups)));
    v1::LookupKernelResponse response;
    *response.mutable_kernel() = MakeKernel(key, kernel, wanted_.device);
    response.mutable_kernel()->clear_name();
    *response.mutable_record() = RecordOf(candidate, key);
    *response.mutable_pipeline() = Explain(candidate);
    response.set_match(v1::MATCH_KIND_EXACT);
    response.set_provenance(v1::KERNEL_PROVENANCE_MEASURED);
    // As the worst of the steps.
    for (const v1::LookupKernelResponse& step : candidate.steps) {
      response.set_match(std::max(response.match(), step.match()));
      response.set_provenance(std::max(response.provenance(), step.provenance()));
    }
    return response;
  }

  v1::TuningRecord RecordOf(const Candidate& candidate, const v1::KernelKey& key) const {
    v1::TuningRecord record = MakePipelineRecord(wanted_.pipeline, key, wanted_.device);
    record.clear_name();
    record.set_time_ns(candidate.time_ns);
    return record;
  }

  v1::PipelineKernel Explain(const Candidate& candidate) const {
    v1::PipelineKernel proto;
    *proto.mutable_partition() = ToProto(wanted_.pipeline, *candidate.partition);
    proto.mutable_partition()->set_text(
        Describe(wanted_.pipeline, *candidate.partition, candidate.groups));
    for (const v1::LookupKernelResponse& step : candidate.steps) {
      v1::PipelineKernelStep* to = proto.add_steps();
      to->set_expression_name(step.record().expression_name());
      to->set_expression_digest(step.record().key().expression_digest());
      to->set_time_ns(TimeOf(step));
      to->set_provenance(step.provenance());
      to->set_record(step.made_from().empty() ? step.record().name() : step.made_from());
      to->set_parameters(step.record().parameters());
    }
    proto.set_time_ns(candidate.time_ns);
    proto.set_unfused_time_ns(unfused_time_ns_);
    return proto;
  }

  const WantedPipeline& wanted_;
  const FindStep& find_;
  const SearchPlan plan_;
  std::set<std::string> missing_;  // names of steps without records
  int64_t unfused_time_ns_ = 0;
};

}  // namespace

Result<v1::LookupKernelResponse> BestOfPipeline(const WantedPipeline& wanted,
                                                const FindStep& find) {
  return PipelineChoice(wanted, find).Run();
}

}  // namespace mdh
