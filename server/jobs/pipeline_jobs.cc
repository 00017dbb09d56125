#include "server/jobs/pipeline_jobs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/numerics.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/schedule/complete_parameters.h"
#include "core/schedule/schedule_key.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/jobs/pipeline_search.h"
#include "server/records/resource_names.h"
#include "tuner/run/pipeline_turns.h"

namespace mdh {
namespace {

// A number of the step is added for the id of its job.
constexpr size_t kMaxPipelineRequestIdBytes = kMaxRequestIdBytes - 4;
// What is added for the job of the whole.
constexpr const char* kWholeSuffix = "/all";
// A shorter search measures the kernel from rules, and little else: the others have the time.
constexpr int64_t kLeastSearch = 2'000'000'000;
// The same of devices other than the host's cores, where drivers, references and first kernels take
// longer.
constexpr int64_t kLeastSearchElsewhere = 5'000'000'000;
// What a search for a large step may take besides 1.2 times its share.
constexpr int64_t kOverrunOfSearch = 2'000'000'000;

// What of a budget is for the steps.
int64_t BudgetOfSteps(int64_t budget_ns) { return budget_ns - LeastBudgetOfWhole(budget_ns); }

// Of large ones so many that, if all of them take that, the least that whole kernels have is over
// in time: after 1.2 times the budget and 2 s.
int64_t MostSearches(const Pipeline& pipeline, int64_t budget_ns) {
  const int64_t of_steps_ns = BudgetOfSteps(budget_ns);
  if (HasFewPoints(pipeline)) return of_steps_ns / kLeastSearch;
  const int64_t end_ns = budget_ns + budget_ns / 5 + 2'000'000'000;
  const int64_t whole_ns = BudgetOfWhole(budget_ns, budget_ns) + kMostOverrunNs;
  return (end_ns - whole_ns - (of_steps_ns + of_steps_ns / 5)) / kOverrunOfSearch;
}

// The partitions that the schedule leaves, and of their steps what is searched: not what it says
// completely.
SearchPlanOptions Under(const PipelineSchedule& schedule, const DeviceDescription& device,
                        NumericsPolicy numerics, SearchPlanOptions options) {
  options = schedule.Under(std::move(options));
  options.says = [says = options.says, schedule, device, numerics](
                     const Partition& partition, int step) -> std::optional<std::string> {
    const std::optional<std::string> said = says(partition, step);
    if (!said || said->empty()) return said;
    const Expression& expression = partition.pipeline.steps()[step].expression;
    const Result<Schedule> of_step = Schedule::Parse(*said, expression, schedule.model());
    const bool is_complete =
        of_step.ok() &&
        CompleteParameters(*of_step, device, PolicyFor(expression, numerics)).has_value();
    return is_complete ? std::nullopt : said;
  };
  return options;
}

Result<SearchPlanOptions> PlanOptionsOf(const Pipeline& pipeline, const CreateJob& whole) {
  const v1::TuningOptions& options = whole.options;
  SearchPlanOptions plan;
  plan.plan.may_reassociate = Reassociates(static_cast<NumericsPolicy>(options.numerics_policy()));
  if (options.budget_ns() > 0) {
    plan.most_steps = static_cast<int>(
        std::clamp<int64_t>(MostSearches(pipeline, options.budget_ns()), 1, plan.most_steps));
  }
  if (options.schedule().empty()) return plan;
  const DeviceDescription& device = DeviceOf(whole);
  MDH_ASSIGN_OR_RETURN(
      const PipelineSchedule schedule,
      PipelineSchedule::Parse(options.schedule(), pipeline, TuningModel(device.kind)));
  return Under(schedule, device, static_cast<NumericsPolicy>(options.numerics_policy()),
               std::move(plan));
}

// On devices other than the host's cores all steps are searched in advance, or none: the search for
// whole kernels knows which of them are worth it, and searches these (PipelineMoves). On the host's
// cores, which compile one kernel after the other, it would have seen little by then.
void LeaveToWhole(const DeviceDescription& device, int64_t budget_ns, SearchPlan& plan) {
  const auto least_ns = static_cast<int64_t>(plan.steps.size()) * kLeastSearchElsewhere;
  const bool is_short = budget_ns > 0 && (plan.left_out > 0 || BudgetOfSteps(budget_ns) < least_ns);
  if (RunsOnHost(device) || !is_short) return;
  plan.left_out += static_cast<int>(plan.steps.size());
  plan.steps.clear();
}

struct PipelineJobs {
  SearchPlan plan;
  std::vector<CreateJob> jobs;  // one per step of the plan
  CreateJob whole;              // but for what it awaits
};

// What is said of the step, not of the pipeline.
Status SetSchedule(const SearchedStep& step, CreateJob& job) {
  job.options.set_schedule(step.schedule);
  job.key_schedule.clear();
  if (step.schedule.empty()) return absl::OkStatus();
  const SystemModel model = TuningModel(DeviceOf(job).kind);
  MDH_ASSIGN_OR_RETURN(const Schedule schedule,
                       Schedule::Parse(step.schedule, step.expression, model));
  job.key_schedule = KeyScheduleOf(schedule);
  return absl::OkStatus();
}

Result<PipelineJobs> CheckPipelineRequest(const Pipeline& pipeline, const JobRequest& request,
                                          const DeviceCatalogue& catalogue) {
  MDH_ASSIGN_OR_RETURN(CreateJob whole, CheckJobRequest(pipeline, request, catalogue));
  MDH_ASSIGN_OR_RETURN(const SearchPlanOptions plan_options, PlanOptionsOf(pipeline, whole));
  SearchPlan plan = PlanSearch(pipeline, plan_options);
  LeaveToWhole(DeviceOf(whole), whole.options.budget_ns(), plan);
  // Of a schedule that says everything only the whole is measured.
  if (plan.steps.empty() && plan.left_out == 0 && whole.options.schedule().empty()) {
    return absl::FailedPreconditionError(absl::StrCat("there is nothing to tune: every step of ",
                                                      pipeline.name(), " has an empty dimension"));
  }
  if (request.request_id.size() > kMaxPipelineRequestIdBytes) {
    return InvalidField("request_id", absl::StrCat("request_id of a pipeline is longer than ",
                                                   kMaxPipelineRequestIdBytes, " bytes"));
  }
  PipelineJobs checked{std::move(plan), {}, whole};
  const std::vector<SearchedStep>& steps = checked.plan.steps;
  if (!request.request_id.empty()) {
    checked.whole.request_id = absl::StrCat(request.request_id, kWholeSuffix);
  }
  const std::vector<int64_t> budgets =
      Shares(BudgetOfSteps(whole.options.budget_ns()), checked.plan);
  const std::vector<int64_t> trials = Shares(whole.options.max_trials(), checked.plan);
  const std::vector<int64_t> device_times =
      Shares(whole.options.max_device_time_ns(), checked.plan);
  for (size_t s = 0; s < steps.size(); ++s) {
    CreateJob& job = checked.jobs.emplace_back(whole);
    job.computation = steps[s].expression;
    MDH_RETURN_IF_ERROR(SetSchedule(steps[s], job));
    job.options.set_budget_ns(budgets[s]);
    job.options.set_max_trials(trials[s]);
    job.options.set_max_device_time_ns(device_times[s]);
    if (!request.request_id.empty()) job.request_id = absl::StrCat(request.request_id, "/", s);
  }
  return checked;
}

v1::PipelineStepJob ToStepJob(v1::CreateTuningJobResponse created,
                              const std::vector<int>& partitions) {
  v1::PipelineStepJob proto;
  proto.mutable_job()->Swap(created.mutable_job());
  proto.set_joined(created.joined());
  proto.set_extended(created.extended());
  proto.set_search_time_ns(created.search_time_ns());
  proto.set_note(created.note());
  proto.mutable_partitions()->Add(partitions.begin(), partitions.end());
  return proto;
}

void AddPlan(const Pipeline& pipeline, const SearchPlan& plan,
             v1::CreateTuningJobResponse& response) {
  std::vector<std::string> texts;
  for (const Partition& partition : plan.partitions) {
    *response.add_partitions() = ToProto(pipeline, partition);
    texts.push_back(response.partitions().rbegin()->text());
  }
  const size_t all = plan.steps.size() + static_cast<size_t>(plan.left_out);
  std::string steps = absl::StrCat(all, all == 1 ? " distinct step" : " distinct steps");
  if (plan.left_out > 0) {
    steps = plan.steps.empty()
                ? absl::StrCat("whole kernels, and then the best one's steps, out of ", steps,
                               ", as the budget is short,")
                : absl::StrCat("the costliest ", plan.steps.size(), " of ", steps,
                               ", as the budget is short,");
  }
  response.set_note(absl::StrCat(
      steps, " of ", texts.size(),
      texts.size() == 1 ? " partition: " : " partitions: ", absl::StrJoin(texts, "; ")));
}

// Those that this request has begun.
void CancelBegun(const v1::CreateTuningJobResponse& response, JobQueue& jobs) {
  for (const v1::PipelineStepJob& begun : response.step_jobs()) {
    const Result<int64_t> number = ParseJobName(begun.job().name());
    if (begun.joined() || !number.ok()) continue;
    jobs.Cancel(*number).IgnoreError();
  }
}

}  // namespace

Result<v1::CreateTuningJobResponse> ValidatePipelineJobs(const Pipeline& pipeline,
                                                         const JobRequest& request,
                                                         const DeviceCatalogue& catalogue,
                                                         JobQueue& jobs) {
  MDH_ASSIGN_OR_RETURN(const PipelineJobs checked,
                       CheckPipelineRequest(pipeline, request, catalogue));
  v1::CreateTuningJobResponse response;
  for (size_t s = 0; s < checked.jobs.size(); ++s) {
    MDH_ASSIGN_OR_RETURN(v1::CreateTuningJobResponse valid, jobs.Validate(checked.jobs[s]));
    *response.add_step_jobs() = ToStepJob(std::move(valid), checked.plan.steps[s].partitions);
  }
  MDH_ASSIGN_OR_RETURN(v1::CreateTuningJobResponse whole, jobs.Validate(checked.whole));
  *response.mutable_whole_job() = ToStepJob(std::move(whole), {});
  AddPlan(pipeline, checked.plan, response);
  return response;
}

Result<v1::CreateTuningJobResponse> CreatePipelineJobs(const Pipeline& pipeline,
                                                       const JobRequest& request,
                                                       const DeviceCatalogue& catalogue,
                                                       JobQueue& jobs) {
  MDH_ASSIGN_OR_RETURN(PipelineJobs checked, CheckPipelineRequest(pipeline, request, catalogue));
  v1::CreateTuningJobResponse response;
  for (size_t s = 0; s < checked.jobs.size(); ++s) {
    Result<v1::CreateTuningJobResponse> created = jobs.Create(std::move(checked.jobs[s]));
    if (!created.ok()) {
      CancelBegun(response, jobs);
      return created.status();
    }
    *response.add_step_jobs() = ToStepJob(*std::move(created), checked.plan.steps[s].partitions);
  }
  for (const v1::PipelineStepJob& step : response.step_jobs()) {
    if (!step.job().has_end_time()) checked.whole.awaited.push_back(step.job().name());
  }
  // What is searched may give better kernels than the one that is known.
  if (!checked.whole.awaited.empty()) checked.whole.force = true;
  Result<v1::CreateTuningJobResponse> whole = jobs.Create(std::move(checked.whole));
  if (!whole.ok()) {
    CancelBegun(response, jobs);
    return whole.status();
  }
  *response.mutable_whole_job() = ToStepJob(*std::move(whole), {});
  AddPlan(pipeline, checked.plan, response);
  return response;
}

}  // namespace mdh
