// The request loop of a runner.
#include "tuner/measure/runner_process.h"

#include <signal.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/measure/candidate_run.h"
#include "tuner/measure/compilers.h"
#include "tuner/measure/message_stream.h"
#include "tuner/measure/peaks.h"
#include "tuner/measure/problem.h"
#include "tuner/measure/verdict.h"

namespace mdh {
namespace {

// The socket: source of requests, and of interruptions while one is worked on.
class Channel final : public Supervisor {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  // Unavailable when the daemon has closed the socket.
  Result<v1::RunnerRequest> NextRequest() {
    while (!gone_) {
      v1::RunnerRequest request;
      MDH_RETURN_IF_ERROR(ReceiveMessage(socket_, request));
      if (request.call_case() == v1::RunnerRequest::kInterrupt) continue;  // for an earlier one
      current_ = request.id();
      interrupted_ = false;
      return request;
    }
    return absl::UnavailableError("the daemon is gone");
  }

  void Send(v1::RunnerResponse response) {
    response.set_id(current_);
    if (!SendMessage(socket_, response).ok()) Stop();
  }

  void Wait(int64_t timeout_ns) override {
    if (!WaitForChildOrInput(gone_ ? -1 : socket_, timeout_ns)) return;
    v1::RunnerRequest request;
    // Only interruptions are sent while a request is worked on.
    if (!ReceiveMessage(socket_, request).ok()) return Stop();
    if (request.interrupt().request_id() == current_) interrupted_ = true;
  }

  bool interrupted() const override { return interrupted_; }

  // Notices an interruption that has arrived, without waiting.
  void Look() { Wait(0); }

 private:
  void Stop() {
    gone_ = true;
    interrupted_ = true;
  }

  int socket_;
  uint64_t current_ = 0;
  bool interrupted_ = false;
  bool gone_ = false;
};

MeasureOptions OptionsOf(const v1::RunnerMeasure& request) {
  return {.compile_limit_ns = request.compile_limit_ns(),
          .run_limit_ns = request.run_limit_ns(),
          .min_repeats = request.min_repeats(),
          .target_time_ns = request.target_time_ns(),
          .max_repeats = request.max_repeats(),
          .best_so_far_ns = request.best_so_far_ns(),
          .slow_factor = request.slow_factor()};
}

class Service {
 public:
  Service(Channel& channel, std::string path) : channel_(channel), path_(std::move(path)) {}

  // Fills the last answer to `request`; the status goes into it too.
  Status Answer(const v1::RunnerRequest& request, v1::RunnerResponse& response) {
    if (request.call_case() == v1::RunnerRequest::kHello) {
      return Hello(request.hello(), response);
    }
    if (!compilers_) return absl::FailedPreconditionError("the runner was not greeted");
    switch (request.call_case()) {
      case v1::RunnerRequest::kSetProblem:
        return SetProblem(request.set_problem());
      case v1::RunnerRequest::kMeasure:
        return Measure(request.measure());
      case v1::RunnerRequest::kLoopNestTime:
        return LoopNestTime(response);
      case v1::RunnerRequest::kPeaks:
        return Peaks(response);
      default:
        return absl::InvalidArgumentError("the runner does not know this request");
    }
  }

 private:
  Status Hello(const v1::RunnerHello& hello, v1::RunnerResponse& response) {
    MDH_ASSIGN_OR_RETURN(device_, DescribeHostCpu());
    threads_ = hello.threads() > 0 ? hello.threads() : device_.cores;
    MDH_ASSIGN_OR_RETURN(Compilers found,
                         Compilers::Find(path_, hello.directory(), device_.cores, channel_));
    compilers_ = std::move(found);
    response.mutable_ready()->set_compilers(compilers_->Description());
    return absl::OkStatus();
  }

  Status SetProblem(const v1::RunnerSetProblem& request) {
    const Numerics numerics{static_cast<NumericsPolicy>(request.numerics_policy()),
                            request.tolerance()};
    const bool same_expression =
        problem_text_ == request.expression() && problem_numerics_ == numerics;
    if (problem_ && same_expression && seed_ == request.seed()) return absl::OkStatus();
    problem_.reset();  // frees its memory before new memory is needed
    MDH_ASSIGN_OR_RETURN(Expression expression, ParseExpression(request.expression()));
    // The loop nest does not change with the seed: one comparison with the interpreter is enough.
    MDH_ASSIGN_OR_RETURN(problem_,
                         Problem::Create(std::move(expression), request.seed(), numerics,
                                         /*check_sample=*/!same_expression, *compilers_, channel_));
    problem_text_ = request.expression();
    problem_numerics_ = numerics;
    seed_ = request.seed();
    return absl::OkStatus();
  }

  Status Measure(const v1::RunnerMeasure& request) {
    if (!problem_) return absl::FailedPreconditionError("no problem was set before Measure");
    const MeasureOptions options = OptionsOf(request);
    std::vector<CompileJob> jobs;
    for (const v1::RunnerCandidate& candidate : request.candidates()) {
      jobs.push_back(
          {.compiler = static_cast<Compiler>(candidate.compiler()),
           .source = candidate.source() + CallShim(candidate.entry(), problem_->num_arguments()),
           .options = {candidate.compile_options().begin(), candidate.compile_options().end()}});
    }
    MDH_ASSIGN_OR_RETURN(const std::vector<CompileOutcome> compiled,
                         compilers_->Compile(jobs, options.compile_limit_ns, channel_));
    for (int c = 0; c < request.candidates_size(); ++c) {
      MDH_ASSIGN_OR_RETURN(
          const Measurement measurement,
          MeasureOne(compiled[static_cast<size_t>(c)], request.candidates(c).entry(), options));
      SendMeasured(c, measurement);
    }
    return absl::OkStatus();
  }

  Result<Measurement> MeasureOne(const CompileOutcome& compiled, const std::string& entry,
                                 const MeasureOptions& options) {
    channel_.Look();
    if (compiled.interrupted || channel_.interrupted()) return CancelledMeasurement();
    Measurement measurement;
    if (compiled.library.empty()) {
      measurement = Failed(TrialOutcome::kCompileError, compiled.reason);
    } else {
      const CandidateRun run = problem_->MakeRun(compiled.library, entry, threads_, options);
      MDH_ASSIGN_OR_RETURN(const RunRecord record, RunCandidate(run, channel_));
      measurement = Judge(record, run, problem_->references());
    }
    measurement.compile_ns = compiled.compile_ns;
    return measurement;
  }

  void SendMeasured(int candidate, const Measurement& measurement) {
    v1::RunnerResponse response;
    v1::RunnerMeasured& measured = *response.mutable_measured();
    measured.set_candidate(candidate);
    measured.set_outcome(static_cast<int>(measurement.outcome));
    measured.set_reason(measurement.reason);
    measured.mutable_times_ns()->Add(measurement.times_ns.begin(), measurement.times_ns.end());
    measured.set_compile_ns(measurement.compile_ns);
    channel_.Send(std::move(response));
  }

  Status LoopNestTime(v1::RunnerResponse& response) {
    if (!problem_) return absl::FailedPreconditionError("no problem was set before LoopNestTime");
    MDH_ASSIGN_OR_RETURN(const int64_t time_ns, problem_->LoopNestTime(*compilers_, channel_));
    response.set_loop_nest_time_ns(time_ns);
    return absl::OkStatus();
  }

  Status Peaks(v1::RunnerResponse& response) {
    if (!peaks_) {
      MDH_ASSIGN_OR_RETURN(peaks_, MeasurePeaks(device_, threads_, *compilers_, channel_));
    }
    v1::RunnerPeakRates& rates = *response.mutable_peaks();
    rates.set_fp32_flops_per_s(peaks_->fp32_flops_per_s);
    rates.set_fp64_flops_per_s(peaks_->fp64_flops_per_s);
    rates.set_memory_bytes_per_s(peaks_->memory_bytes_per_s);
    return absl::OkStatus();
  }

  Channel& channel_;
  std::string path_;
  DeviceDescription device_;
  int threads_ = 1;
  std::optional<Compilers> compilers_;
  std::unique_ptr<Problem> problem_;
  Numerics problem_numerics_;
  std::string problem_text_;
  uint64_t seed_ = 0;
  std::optional<MachinePeaks> peaks_;
};

}  // namespace

Status ServeRunnerRequests(int socket, const std::string& path) {
  signal(SIGPIPE, SIG_IGN);
  PrepareToSupervise();
  Channel channel(socket);
  Service service(channel, path);
  while (true) {
    const Result<v1::RunnerRequest> request = channel.NextRequest();
    if (absl::IsUnavailable(request.status())) return absl::OkStatus();
    if (!request.ok()) return request.status();
    v1::RunnerResponse response;
    const Status status = service.Answer(*request, response);
    response.set_last(true);
    response.set_status_code(static_cast<int>(status.code()));
    response.set_status_message(std::string(status.message()));
    channel.Send(std::move(response));
  }
}

}  // namespace mdh
