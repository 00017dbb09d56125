// The daemon's side of the conversation with a runner.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/text/printer.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/measure/message_stream.h"
#include "tuner/measure/process_session.h"
#include "tuner/measure/runner.h"
#include "tuner/measure/work_directory.h"

namespace mdh {
namespace {

constexpr int64_t kHelloLimit = 120'000'000'000;

class RunnerClient final : public Runner {
 public:
  RunnerClient(RunnerOptions options, DeviceDescription device, WorkDirectory directory)
      : options_(std::move(options)),
        device_(std::move(device)),
        directory_(std::move(directory)) {}

  // Starts the process and greets it. Sets the device's compiler.
  Status StartProcess() ABSL_LOCKS_EXCLUDED(mutex_) {
    MDH_RETURN_IF_ERROR(directory_.Empty());
    MDH_ASSIGN_OR_RETURN(ProcessSession started,
                         ProcessSession::Start(options_.program, options_.path));
    {
      absl::MutexLock lock(&mutex_);
      session_ = std::move(started);
    }
    v1::RunnerRequest request;
    request.mutable_hello()->set_directory(directory_.files());
    request.mutable_hello()->set_threads(options_.threads);
    const Result<v1::RunnerResponse> response = Exchange(request, nullptr, kHelloLimit);
    if (response.ok()) {
      device_.compiler = response->ready().compilers();
      return absl::OkStatus();
    }
    const std::string how = EndProcess();
    if (!absl::IsUnavailable(response.status())) return response.status();
    return absl::FailedPreconditionError(
        absl::StrCat("the runner ", options_.program, " ended before it was ready: ", how));
  }

  const DeviceDescription& device() const override { return device_; }

  Status SetProblem(const Expression& expression, uint64_t seed,
                    const Numerics& numerics) override {
    problem_.emplace();
    problem_->set_numerics_policy(static_cast<int32_t>(numerics.policy));
    problem_->set_tolerance(numerics.tolerance);
    problem_->set_expression(ToText(expression));
    problem_->set_seed(seed);
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/false));
    v1::RunnerRequest request;
    *request.mutable_set_problem() = *problem_;
    const Status status = Call(request).status();
    if (!status.ok()) problem_.reset();
    return status;
  }

  Result<int64_t> LoopNestTime() override {
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/true));
    v1::RunnerRequest request;
    request.mutable_loop_nest_time();
    MDH_ASSIGN_OR_RETURN(const v1::RunnerResponse response, Call(request));
    return response.loop_nest_time_ns();
  }

  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions& options) override {
    if (!problem_) return absl::FailedPreconditionError("no problem was set before Submit");
    submitted_.push_back({number, kernel, options});
    return absl::OkStatus();
  }

  // Measures all that are submitted with the same options at once, so that they are compiled
  // together.
  Result<Finished> Next() override {
    if (!finished_.empty()) return TakeFinished();
    if (submitted_.empty()) return absl::FailedPreconditionError("no kernel is submitted");
    std::vector<Kernel> kernels;
    std::vector<int64_t> numbers;
    const MeasureOptions options = submitted_.front().options;
    while (!submitted_.empty() && submitted_.front().options == options) {
      kernels.push_back(std::move(submitted_.front().kernel));
      numbers.push_back(submitted_.front().number);
      submitted_.pop_front();
    }
    MDH_ASSIGN_OR_RETURN(std::vector<Measurement> measured, MeasureTogether(kernels, options));
    for (size_t k = 0; k < numbers.size(); ++k) {
      finished_.push_back({numbers[k], std::move(measured[k])});
    }
    return TakeFinished();
  }

  Result<MachinePeaks> Peaks() override {
    if (peaks_) return *peaks_;
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/false));
    v1::RunnerRequest request;
    request.mutable_peaks();
    MDH_ASSIGN_OR_RETURN(const v1::RunnerResponse response, Call(request));
    peaks_ = MachinePeaks{.fp32_flops_per_s = response.peaks().fp32_flops_per_s(),
                          .fp64_flops_per_s = response.peaks().fp64_flops_per_s(),
                          .memory_bytes_per_s = response.peaks().memory_bytes_per_s()};
    return *peaks_;
  }

  void Interrupt() override {
    absl::MutexLock lock(&mutex_);
    if (active_id_ == 0 || !session_) return;
    v1::RunnerRequest request;
    request.set_id(active_id_);
    request.mutable_interrupt()->set_request_id(active_id_);
    // If the runner is gone, whoever waits for it notices.
    SendMessage(session_->socket(), request).IgnoreError();
  }

 private:
  struct Submitted {
    int64_t number;
    Kernel kernel;
    MeasureOptions options;
  };

  Finished TakeFinished() {
    Finished first = std::move(finished_.front());
    finished_.pop_front();
    return first;
  }

  Result<std::vector<Measurement>> MeasureTogether(absl::Span<const Kernel> kernels,
                                                   const MeasureOptions& options) {
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/true));
    std::vector<std::optional<Measurement>> measured(kernels.size());
    const Result<v1::RunnerResponse> last =
        Exchange(MeasureRequest(kernels, options), [&](const v1::RunnerMeasured& message) {
          const auto candidate = static_cast<size_t>(message.candidate());
          if (candidate < measured.size()) measured[candidate] = ToMeasurement(message);
        });
    std::string lost = "the runner gave no answer";
    if (absl::IsUnavailable(last.status())) {
      lost = absl::StrCat("the runner ended: ", EndProcess());
    } else if (!last.ok()) {
      return last.status();
    }
    std::vector<Measurement> all;
    for (std::optional<Measurement>& measurement : measured) {
      if (!measurement) {
        measurement.emplace();
        measurement->outcome = TrialOutcome::kLaunchError;
        measurement->reason = lost;
      }
      all.push_back(*std::move(measurement));
    }
    return all;
  }

  static v1::RunnerRequest MeasureRequest(absl::Span<const Kernel> kernels,
                                          const MeasureOptions& options) {
    v1::RunnerRequest request;
    v1::RunnerMeasure& measure = *request.mutable_measure();
    for (const Kernel& kernel : kernels) {
      v1::RunnerCandidate& candidate = *measure.add_candidates();
      candidate.set_entry(kernel.entry);
      candidate.set_source(kernel.source);
      candidate.set_compiler(static_cast<int>(kernel.compiler));
      candidate.mutable_compile_options()->Add(kernel.compile_options.begin(),
                                               kernel.compile_options.end());
    }
    measure.set_compile_limit_ns(options.compile_limit_ns);
    measure.set_run_limit_ns(options.run_limit_ns);
    measure.set_min_repeats(options.min_repeats);
    measure.set_target_time_ns(options.target_time_ns);
    measure.set_max_repeats(options.max_repeats);
    measure.set_best_so_far_ns(options.best_so_far_ns);
    measure.set_slow_factor(options.slow_factor);
    return request;
  }

  static Measurement ToMeasurement(const v1::RunnerMeasured& message) {
    Measurement measurement;
    measurement.outcome = static_cast<TrialOutcome>(message.outcome());
    measurement.reason = message.reason();
    measurement.times_ns.assign(message.times_ns().begin(), message.times_ns().end());
    measurement.compile_ns = message.compile_ns();
    return measurement;
  }

  // A runner that died is started again, with the problem that it had.
  Status EnsureProcess(bool with_problem) {
    {
      absl::MutexLock lock(&mutex_);
      if (session_ && !session_->IsGone()) return absl::OkStatus();
    }
    EndProcess();
    MDH_RETURN_IF_ERROR(StartProcess());
    if (!with_problem || !problem_) return absl::OkStatus();
    v1::RunnerRequest request;
    *request.mutable_set_problem() = *problem_;
    return Call(request).status();
  }

  // For requests without a result to be had in part: a runner that ends is an error.
  Result<v1::RunnerResponse> Call(const v1::RunnerRequest& request) {
    Result<v1::RunnerResponse> response = Exchange(request, nullptr);
    if (!absl::IsUnavailable(response.status())) return response;
    return absl::UnavailableError(absl::StrCat("the runner ended: ", EndProcess()));
  }

  // Sends a request and waits for its last answer; `on_measured` gets those before it.
  // Errors: Unavailable if the runner is gone, else what the runner says.
  Result<v1::RunnerResponse> Exchange(
      v1::RunnerRequest request, const std::function<void(const v1::RunnerMeasured&)>& on_measured,
      std::optional<int64_t> timeout_ns = std::nullopt) {
    int socket = -1;
    {
      absl::MutexLock lock(&mutex_);
      request.set_id(++last_id_);
      active_id_ = last_id_;
      socket = session_->socket();
      MDH_RETURN_IF_ERROR(SendMessage(socket, request));
    }
    Result<v1::RunnerResponse> last = ReceiveLast(socket, on_measured, timeout_ns);
    absl::MutexLock lock(&mutex_);
    active_id_ = 0;
    return last;
  }

  static Result<v1::RunnerResponse> ReceiveLast(
      int socket, const std::function<void(const v1::RunnerMeasured&)>& on_measured,
      std::optional<int64_t> timeout_ns) {
    v1::RunnerResponse response;
    while (true) {
      MDH_RETURN_IF_ERROR(ReceiveMessage(socket, response, timeout_ns));
      if (response.last()) break;
      if (on_measured && response.has_measured()) on_measured(response.measured());
    }
    if (response.status_code() == 0) return response;
    return Status(static_cast<absl::StatusCode>(response.status_code()), response.status_message());
  }

  std::string EndProcess() {
    absl::MutexLock lock(&mutex_);
    active_id_ = 0;
    std::string how = session_ ? session_->End() : "";
    session_.reset();
    return how;
  }

  const RunnerOptions options_;
  DeviceDescription device_;
  WorkDirectory directory_;  // outlives the process
  std::optional<v1::RunnerSetProblem> problem_;
  std::optional<MachinePeaks> peaks_;
  std::deque<Submitted> submitted_;
  std::deque<Finished> finished_;
  // Guards what Interrupt uses, and that only one thread sends.
  absl::Mutex mutex_;
  std::optional<ProcessSession> session_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t active_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<std::unique_ptr<Runner>> Runner::Start(RunnerOptions options) {
  MDH_ASSIGN_OR_RETURN(DeviceDescription device, DescribeHostCpu());
  MDH_ASSIGN_OR_RETURN(WorkDirectory directory, WorkDirectory::Create(options.work_directory));
  auto client =
      std::make_unique<RunnerClient>(std::move(options), std::move(device), std::move(directory));
  MDH_RETURN_IF_ERROR(client->StartProcess());
  return client;
}

}  // namespace mdh
