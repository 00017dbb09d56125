// The C++ client of mdhd.
//
//   MDH_ASSIGN_OR_RETURN(auto client, mdh::Client::Connect("unix:/run/user/1000/mdhd.sock"));
//   MDH_ASSIGN_OR_RETURN(auto matmul, mdh::ParseExpression(text, {{"I", "1024"}}));
//   MDH_ASSIGN_OR_RETURN(auto job, client->Tune(matmul, {.budget_ns = 60'000'000'000}));
//   MDH_ASSIGN_OR_RETURN(auto kernel, client->GetKernel(job.record()));
//
// Results are messages of mdh.v1; their comments say what the fields mean.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/client_options.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/pipeline/computation.h"
#include "mdh/v1/candidate.pb.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/restriction.pb.h"
#include "mdh/v1/study.pb.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {

struct TuneOptions {
  int64_t budget_ns = 0;       // 0: any result will do; if there is none, 60 s
  int64_t max_trials = 0;      // 0: no limit but the budget
  uint64_t seed = 0;           // 0: the daemon's default, 1
  std::string technique = "";  // empty: the daemon's default, "auc_bandit"
  // Policy, and largest relative error of results (0: from the policy).
  v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED;
  double tolerance = 0;
  // Unspecified: warm, and a record of any state will do.
  v1::CacheState cache_state = v1::CACHE_STATE_UNSPECIFIED;
  // The search ends once its best is proven to be within this share of the best possible.
  double gap = 0;
  bool without_cut = false;  // try also what a bound shows to be slower than the best
  bool force = false;        // search again even if there is a record
  // The same id gives the same job. Empty: a random one, so that a call that is repeated because
  // the connection broke gives one job.
  std::string request_id = "";
  // Names of the devices that may be used, all of one fingerprint; none: the daemon's CPU.
  std::vector<std::string> devices = {};
  std::string source = "";         // who asks, to take turns with others; empty: this machine
  int priority = 0;                // among the jobs of the source, from -10 to 10
  int64_t max_device_time_ns = 0;  // summed over the devices; 0: no limit but the budget
  // What the kernel must keep to (core/schedule/grammar.md); empty: nothing. Its record is one of
  // its own. Not of pipelines.
  std::string schedule = "";
  // What is decided of the parameters of the search space. Not of pipelines. Searches anew; what is
  // found replaces a record only if it is faster.
  std::vector<v1::Restriction> restrictions = {};
  bool validate_only = false;  // of CreateJob: only checks
};

// Starts a job beside a call that wants a kernel now.
struct BackgroundTuning {
  int64_t budget_ns = 0;  // 0: the daemon's default
  int priority = 0;
  std::string source = "";
};

// Thread-safe. Errors of every call: what the daemon says, with its message; Unavailable if it
// cannot be reached; DeadlineExceeded.
//
// Where several daemons share a database, lookups and kernels know of what ended jobs and watches
// told this client before, whichever daemon answers: it waits up to a second for that. One that
// cannot know it, because the database is away, answers with what it has.
class Client {
 public:
  using OnProgress = std::function<void(const v1::TuningProgress&)>;

  // `target`: "unix:/path" or "HOST:PORT". Errors: Unavailable, naming the target; as
  // ConnectChannel (channel.h) for the options.
  static Result<std::unique_ptr<Client>> Connect(const std::string& target,
                                                 const ClientOptions& options = {});
  ~Client();

  // The key of `computation` on the daemon's device. A caller that looks the same one up often
  // keeps it, and saves its computation.
  static v1::KernelKey KeyOf(const ComputationView& computation,
                             v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED);

  // Lookups and kernels are to know of what a daemon gave this cursor for, from now on: that of
  // another client's job (TuningJob.min_cursor) or of what was put (PutKernelResponse.min_cursor).
  void MustHaveSeen(const std::string& min_cursor);

  // `device`: what the record is for, if the key does not say; not given: the daemon's CPU.
  // Errors: NotFound.
  Result<v1::LookupKernelResponse> Lookup(const v1::KernelKey& key,
                                          v1::MatchKind weakest_match = v1::MATCH_KIND_EXACT,
                                          const v1::DeviceSelection& device = {});
  Result<v1::LookupKernelResponse> Lookup(const Expression& expression,
                                          v1::MatchKind weakest_match = v1::MATCH_KIND_EXACT) {
    return Lookup(KeyOf(expression), weakest_match);
  }
  // The record of a search that kept to a schedule (core/schedule/grammar.md); empty: of the free
  // one. Errors: NotFound; InvalidArgument, with the position in the schedule.
  Result<v1::LookupKernelResponse> LookupScheduled(
      const ComputationView& computation, const std::string& schedule,
      v1::MatchKind weakest_match = v1::MATCH_KIND_EXACT, const v1::DeviceSelection& device = {},
      v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED);
  // Of a pipeline: the fastest of its whole kernels that were measured, or if none was the kernel
  // that the records of its steps give; and which steps it is made of. Errors: NotFound, naming
  // steps without records.
  Result<v1::LookupKernelResponse> Lookup(
      const Pipeline& pipeline, v1::MatchKind weakest_match = v1::MATCH_KIND_EXACT,
      const v1::DeviceSelection& device = {},
      v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED);
  // The best that is known, at once and from the daemon's memory where it can; unless it was
  // measured for exactly this, a tuning job is created, or joined, in the background. The response
  // has the kernel itself where parameters were not measured, and says where they come from.
  // Errors: those of the expression; what keeps the job from being created is in the response.
  Result<v1::LookupKernelResponse> LookupAndTune(
      const ComputationView& computation, const BackgroundTuning& tuning,
      const v1::DeviceSelection& device = {},
      v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED);
  // Many at once, in the order of the keys; each fails alone. Errors: InvalidArgument for too many.
  Result<std::vector<Result<v1::LookupKernelResponse>>> BatchLookup(
      const std::vector<v1::KernelKey>& keys, v1::MatchKind weakest_match = v1::MATCH_KIND_EXACT);
  // Calls `on_change` from this thread for what the daemon sends, until it gives false. `cursor`:
  // from an earlier response; empty: from now on. Errors: OutOfRange if changes after the cursor
  // are forgotten: then whoever keeps a cache empties it and starts without a cursor.
  using OnKernelChanges = std::function<bool(const v1::WatchKernelsResponse&)>;
  // `stop` ends it at once.
  Status WatchKernels(const std::string& cursor, const OnKernelChanges& on_changes,
                      std::stop_token stop = {});
  // `name`: of a kernel or of its record. Errors: NotFound.
  Result<v1::Kernel> GetKernel(const std::string& name);
  // The best kernel that is known for an expression on a device; with MATCH_KIND_PREDICTED as the
  // weakest match there is one for every device, measured or not. `schedule`: that it keeps to;
  // then it was measured. Errors: NotFound.
  Result<v1::GetKernelResponse> GetBestKernel(
      const ComputationView& computation, const v1::DeviceSelection& device,
      v1::MatchKind weakest_match,
      v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED,
      const std::string& schedule = "");
  // The best kernel that is known, at once; unless it was measured for exactly this, a tuning job
  // is created, or joined, in the background. The response says where the kernel comes from.
  // Errors: as GetBestKernel; what keeps the job from being created is in the response.
  Result<v1::GetKernelResponse> GetKernelAndTune(
      const ComputationView& computation, const v1::DeviceSelection& device,
      const BackgroundTuning& tuning,
      v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED);

  // Creates a job, waits for its end, also while the daemon is restarted, and gives its record.
  // `on_progress` is called from this thread. Errors: Cancelled if the job was cancelled, even if a
  // record was stored; what the job failed with.
  Result<v1::TuningRecord> Tune(const Expression& expression, const TuneOptions& options,
                                const OnProgress& on_progress = {});
  // Of a pipeline: creates a job for each distinct step, and one that measures whole kernels, waits
  // for their ends, and gives the fastest kernel. Errors: as above, of the first job that has one.
  Result<v1::GetKernelResponse> Tune(const Pipeline& pipeline, const TuneOptions& options,
                                     const OnProgress& on_progress = {});
  // Returns at once. Of a pipeline the response has a job for each distinct step, and one for the
  // whole.
  Result<v1::CreateTuningJobResponse> CreateJob(const ComputationView& computation,
                                                const TuneOptions& options);
  // What a schedule leaves open, without a search. `vary`: a decision whose alternatives are
  // counted, "tile.L2.k"; empty: none. Errors: InvalidArgument, with the position in the schedule.
  Result<v1::CheckScheduleResponse> CheckSchedule(
      const ComputationView& computation, const std::string& schedule,
      const v1::DeviceSelection& device = {},
      v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED,
      const std::string& vary = "");
  // What remains of a candidate, and one of its configurations with its kernel. `seed`: of a
  // sample. Errors: as those of mdh.v1.CandidateService.
  // `comparison`: what bounds are compared with; absent: nothing.
  Result<v1::DescribeCandidateResponse> DescribeCandidate(
      const v1::Candidate& candidate,
      const std::optional<v1::BoundComparison>& comparison = std::nullopt);
  Result<v1::FinishCandidateResponse> FinishCandidate(const v1::Candidate& candidate,
                                                      v1::FinishRule by, uint64_t seed = 1);
  // Waits for the end of a job; `on_progress` is called from this thread for every step after
  // `after_sequence`. Ends with the connection, and after `limit_ns` (0: never): WaitForJob
  // (wait_for_job.h) goes on. Errors: NotFound.
  Status Watch(const std::string& name, int64_t after_sequence, const OnProgress& on_progress,
               int64_t limit_ns = 0);
  // The job, and its record if it has one. Errors: NotFound.
  Result<v1::GetTuningJobResponse> GetJob(const std::string& name);
  // One page, the newest first.
  Result<v1::ListTuningJobsResponse> ListJobs(int page_size, const std::string& page_token);
  // The same with the filters of the request.
  // `limit_ns`: of the call; 0: that of all calls.
  Result<v1::ListTuningJobsResponse> ListJobs(const v1::ListTuningJobsRequest& request,
                                              int64_t limit_ns = 0);
  // One page of the job's journal, the oldest trial first. Errors: NotFound.
  Result<v1::ListTuningTrialsResponse> ListTuningTrials(const std::string& name, int page_size,
                                                        const std::string& page_token);
  // Errors: NotFound; FailedPrecondition if the job has ended.
  Result<v1::TuningJob> Pause(const std::string& name);
  Result<v1::TuningJob> Resume(const std::string& name);
  // Errors: NotFound.
  Result<v1::TuningJob> Cancel(const std::string& name);

  Result<v1::ListDevicesResponse> ListDevices();
  // Errors: NotFound.
  Result<v1::Device> GetDevice(const std::string& name);
  // Devices that kernels can be made for though they are not attached.
  Result<v1::ListKnownDevicesResponse> ListKnownDevices();

  // Studies: tuning of any program. Errors: as those of mdh.v1.StudyService.
  Result<v1::Study> CreateStudy(const v1::CreateStudyRequest& request);
  Result<v1::Study> GetStudy(const std::string& name);
  // One page, the newest first.
  Result<v1::ListStudiesResponse> ListStudies(int page_size, const std::string& page_token);
  // Up to `count` configurations to evaluate. `lease_ns`: how long that may take; 0: the daemon's
  // default, 10 minutes.
  Result<v1::AskTrialsResponse> AskTrials(const std::string& name, int count, int64_t lease_ns);
  // Gives the study after these.
  Result<v1::Study> TellTrials(const v1::TellTrialsRequest& request);
  // One page of those that were told, by number.
  Result<v1::ListTrialsResponse> ListTrials(const std::string& name, int page_size,
                                            const std::string& page_token);
  Result<v1::Study> CancelStudy(const std::string& name);
  Status DeleteStudy(const std::string& name);

 private:
  class Services;  // of the daemon
  explicit Client(std::unique_ptr<const Services> services);

  const std::unique_ptr<const Services> services_;
};

// Names of the jobs of a response, in the order in which they end: of a pipeline those of the
// steps, then that of the whole.
std::vector<std::string> JobsOf(const v1::CreateTuningJobResponse& created);

}  // namespace mdh
