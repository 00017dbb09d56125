#include "server/services/tuning_service.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/expression/numerics.h"
#include "core/pipeline/plan/planned_expression.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/jobs/pipeline_jobs.h"
#include "server/jobs/schedule_request.h"
#include "server/records/resource_names.h"
#include "server/services/reply.h"

namespace mdh {
namespace {

constexpr int kDefaultPageSize = 50;
// That wait for a client that watches and is slow; the queue keeps the others.
constexpr size_t kMostStepsOfWatch = 16;

bool IsFinal(v1::TuningJobState state) {
  return state == v1::TUNING_JOB_STATE_SUCCEEDED || state == v1::TUNING_JOB_STATE_FAILED ||
         state == v1::TUNING_JOB_STATE_CANCELLED;
}

Result<v1::TuningRecord> StoredRecord(const std::string& name, Store& store) {
  MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(name));
  return store.GetRecord(id);
}

// The steps of a job, one after the other.
class JobWatch {
 public:
  JobWatch(JobQueue& jobs, int64_t number, int64_t after_sequence,
           std::shared_ptr<const Admission> admission)
      : jobs_(jobs), number_(number), sequence_(after_sequence), admission_(std::move(admission)) {}

  WatchStep<v1::WatchTuningJobResponse> operator()() {
    if (steps_.empty()) {
      Result<std::vector<v1::TuningProgress>> news =
          jobs_.WaitForProgress(number_, sequence_, absl::ZeroDuration(), kMostStepsOfWatch);
      if (!news.ok()) return {.end = news.status()};
      for (v1::TuningProgress& step : *news) {
        // Of a job that is only stored the latest step comes again and again.
        const bool is_news = step.sequence() > sequence_ || IsFinal(step.state());
        if (is_news) steps_.push_back(std::move(step));
      }
    }
    if (steps_.empty()) return {};
    v1::WatchTuningJobResponse response;
    *response.mutable_progress() = std::move(steps_.front());
    steps_.pop_front();
    sequence_ = std::max(sequence_, response.progress().sequence());
    const bool is_last = IsFinal(response.progress().state());
    return {.response = std::move(response),
            .end = is_last ? std::make_optional(absl::OkStatus()) : std::nullopt};
  }

 private:
  JobQueue& jobs_;
  const int64_t number_;
  int64_t sequence_;
  std::shared_ptr<const Admission> admission_;
  std::deque<v1::TuningProgress> steps_;
};

// Removes what is of the next page, of which trials with one number are all. Whether there is one.
bool TakeMore(std::vector<v1::TuningTrial>& trials, int limit) {
  if (std::ssize(trials) <= limit) return false;
  const int64_t next = trials[static_cast<size_t>(limit)].number();
  // They may be more than a page by themselves.
  if (trials.front().number() == next) return true;
  std::erase_if(trials, [&](const v1::TuningTrial& trial) { return trial.number() >= next; });
  return true;
}

}  // namespace

Result<v1::CreateTuningJobResponse> TuningServiceImpl::Create(
    const v1::CreateTuningJobRequest& request, const Requester& requester) {
  MDH_ASSIGN_OR_RETURN(Computation given,
                       InField("expression", ReadComputation(request.expression(), limits_)));
  MDH_RETURN_IF_ERROR(catalogue_.AwaitOpen());
  JobRequest asked = {.options = request.options(),
                      .devices = {request.devices().begin(), request.devices().end()},
                      .force = request.force(),
                      .request_id = request.request_id(),
                      .priority = request.priority(),
                      .requester = requester};
  const bool is_expression = std::holds_alternative<Expression>(given);
  // Schedules and restrictions are about its loops.
  if (asked.options.schedule().empty() && asked.options.restrictions().empty()) {
    const auto policy = static_cast<NumericsPolicy>(asked.options.numerics_policy());
    given = AsPlanned(std::move(given), policy);
  }
  if (const auto* const pipeline = std::get_if<Pipeline>(&given)) {
    MDH_ASSIGN_OR_RETURN(v1::CreateTuningJobResponse created,
                         request.validate_only()
                             ? ValidatePipelineJobs(*pipeline, asked, catalogue_, jobs_)
                             : CreatePipelineJobs(*pipeline, asked, catalogue_, jobs_));
    if (is_expression) *created.mutable_job() = created.whole_job().job();
    return created;
  }
  MDH_ASSIGN_OR_RETURN(CreateJob create, CheckJobRequest(std::get<Expression>(std::move(given)),
                                                         std::move(asked), catalogue_));
  return request.validate_only() ? jobs_.Validate(create) : jobs_.Create(std::move(create));
}

Result<int64_t> TuningServiceImpl::FindOwn(const std::string& name, const Caller& caller) {
  MDH_ASSIGN_OR_RETURN(const int64_t number, InField("name", ParseJobName(name)));
  MDH_ASSIGN_OR_RETURN(const v1::TuningJob job, jobs_.Get(number));
  MDH_RETURN_IF_ERROR(access_.CheckOwner(caller, job.source(), name));
  return number;
}

Result<WatchNext<v1::WatchTuningJobResponse>> TuningServiceImpl::Follow(
    const grpc::ServerContext& context, const v1::WatchTuningJobRequest& request) {
  MDH_ASSIGN_OR_RETURN(Admission admission,
                       access_.Enter(context, "/mdh.v1.TuningService/WatchTuningJob"));
  MDH_ASSIGN_OR_RETURN(const int64_t number, InField("name", ParseJobName(request.name())));
  return WatchNext<v1::WatchTuningJobResponse>(JobWatch(
      jobs_, number, request.after_sequence(), std::make_shared<Admission>(std::move(admission))));
}

void TuningServiceImpl::AddTo(WatchStreams& streams) {
  streams.AddMethod<v1::WatchTuningJobRequest, v1::WatchTuningJobResponse>(
      {.await =
           [this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
             RequestWatchTuningJob(context, request, writer, queue, queue, tag);
           },
       .follow = [this](const auto& context,
                        const auto& request) { return Follow(context, request); }});
}

grpc::Status TuningServiceImpl::CreateTuningJob(grpc::ServerContext* context,
                                                const v1::CreateTuningJobRequest* request,
                                                v1::CreateTuningJobResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.TuningService/CreateTuningJob", [&](const Caller& caller) {
        return Reply(
            Create(*request, {caller.SourceOf(*context, request->source()), caller.limits}),
            response);
      });
}

grpc::Status TuningServiceImpl::GetTuningJob(grpc::ServerContext* context,
                                             const v1::GetTuningJobRequest* request,
                                             v1::GetTuningJobResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.TuningService/GetTuningJob", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const int64_t number, InField("name", ParseJobName(request->name())));
        MDH_ASSIGN_OR_RETURN(*response->mutable_job(), jobs_.Get(number));
        if (response->job().record().empty()) return absl::OkStatus();
        Result<v1::TuningRecord> record = lookup_table_.FindRecord(response->job().key());
        // Another daemon has just stored it, or it is for a device that is not served here.
        if (!record.ok()) record = StoredRecord(response->job().record(), store_);
        if (record.ok()) *response->mutable_record() = *std::move(record);
        return absl::OkStatus();
      });
}

grpc::Status TuningServiceImpl::ListTuningJobs(grpc::ServerContext* context,
                                               const v1::ListTuningJobsRequest* request,
                                               v1::ListTuningJobsResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.TuningService/ListTuningJobs", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const int limit,
                             PageLimit(request->page_size(), kDefaultPageSize, kMaxPageSize));
        MDH_ASSIGN_OR_RETURN(const int64_t before, ParsePageToken(request->page_token()));
        JobFilter filter = {.expression = request->expression(),
                            .device = request->device().starts_with("devices/")
                                          ? catalogue_.FullName(request->device())
                                          : request->device(),
                            .source = request->source()};
        for (const int state : request->states()) {
          if (!v1::TuningJobState_IsValid(state)) {
            return InvalidField("states", "there is no state number ", state);
          }
          filter.states.push_back(static_cast<v1::TuningJobState>(state));
        }
        MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningJob> jobs,
                             jobs_.List(before, limit + 1, filter));
        if (!FillPage(std::move(jobs), limit, response->mutable_jobs())) return absl::OkStatus();
        MDH_ASSIGN_OR_RETURN(const int64_t last, ParseJobName(response->jobs().rbegin()->name()));
        response->set_next_page_token(absl::StrCat(last));
        return absl::OkStatus();
      });
}

grpc::Status TuningServiceImpl::CancelTuningJob(grpc::ServerContext* context,
                                                const v1::CancelTuningJobRequest* request,
                                                v1::CancelTuningJobResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.TuningService/CancelTuningJob",
                    [&](const Caller& caller) -> Status {
                      MDH_ASSIGN_OR_RETURN(const int64_t number, FindOwn(request->name(), caller));
                      return Reply(jobs_.Cancel(number), response->mutable_job());
                    });
}

grpc::Status TuningServiceImpl::PauseTuningJob(grpc::ServerContext* context,
                                               const v1::PauseTuningJobRequest* request,
                                               v1::PauseTuningJobResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.TuningService/PauseTuningJob",
                    [&](const Caller& caller) -> Status {
                      MDH_ASSIGN_OR_RETURN(const int64_t number, FindOwn(request->name(), caller));
                      return Reply(jobs_.Pause(number), response->mutable_job());
                    });
}

grpc::Status TuningServiceImpl::ResumeTuningJob(grpc::ServerContext* context,
                                                const v1::ResumeTuningJobRequest* request,
                                                v1::ResumeTuningJobResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.TuningService/ResumeTuningJob",
                    [&](const Caller& caller) -> Status {
                      MDH_ASSIGN_OR_RETURN(const int64_t number, FindOwn(request->name(), caller));
                      return Reply(jobs_.Resume(number), response->mutable_job());
                    });
}

grpc::Status TuningServiceImpl::ListTuningTrials(grpc::ServerContext* context,
                                                 const v1::ListTuningTrialsRequest* request,
                                                 v1::ListTuningTrialsResponse* response) {
  return IfAdmitted(
      access_, *context, "/mdh.v1.TuningService/ListTuningTrials", [&](const Caller&) -> Status {
        MDH_ASSIGN_OR_RETURN(const int64_t number, InField("name", ParseJobName(request->name())));
        MDH_ASSIGN_OR_RETURN(const int limit,
                             PageLimit(request->page_size(), kDefaultPageSize, kMaxPageSize));
        MDH_ASSIGN_OR_RETURN(const int64_t after, ParsePageToken(request->page_token()));
        MDH_RETURN_IF_ERROR(jobs_.Get(number).status());
        MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningTrial> trials,
                             store_.ListTrials(number, after, limit + 1));
        const bool has_more = TakeMore(trials, limit);
        for (v1::TuningTrial& trial : trials) *response->add_trials() = std::move(trial);
        if (has_more) {
          response->set_next_page_token(absl::StrCat(response->trials().rbegin()->number()));
        }
        return absl::OkStatus();
      });
}

grpc::Status TuningServiceImpl::CheckSchedule(grpc::ServerContext* context,
                                              const v1::CheckScheduleRequest* request,
                                              v1::CheckScheduleResponse* response) {
  return IfAdmitted(access_, *context, "/mdh.v1.TuningService/CheckSchedule",
                    [&](const Caller&) -> Status {
                      MDH_RETURN_IF_ERROR(catalogue_.AwaitOpen());
                      return Reply(AnswerCheckSchedule(*request, limits_, catalogue_), response);
                    });
}

}  // namespace mdh
