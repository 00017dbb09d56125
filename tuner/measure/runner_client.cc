// The daemon's side of the conversation with a runner.
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/text/computation_text.h"
#include "mdh/v1/runner.pb.h"
#include "proto/device_conversion.h"
#include "tuner/device/device_selector.h"
#include "tuner/measure/confine/work_directory.h"
#include "tuner/measure/file_identity.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/measure/runner.h"
#include "tuner/measure/trial/verdict.h"
#include "tuner/process/clock.h"
#include "tuner/process/message_stream.h"
#include "tuner/process/process_session.h"

namespace mdh {
namespace {

// What is computed before there are results may take long where nobody says how long.
constexpr int64_t kProblemLimit = 3600'000'000'000;
// A kernel is compiled in one unit with others and then perhaps alone; it is measured a few times,
// and what the machine's speed is compared with, too.
constexpr int64_t kMostCompilations = 2;
constexpr int64_t kMostRuns = 8;
// As RunnerOptions::interrupt_limit_ns, when this process is about to end.
constexpr int64_t kLastLimit = 700'000'000;
constexpr int64_t kLastPatience = 200'000'000;
// A message that has begun comes whole, or its sender hangs.
constexpr int64_t kMessageLimit = 30'000'000'000;
// Times that a runner may die in a row while no kernel is measured.
constexpr int kMostDeaths = 3;

Status StatusOf(const v1::RunnerResponse& response) {
  if (response.status_code() == 0) return absl::OkStatus();
  return Status(static_cast<absl::StatusCode>(response.status_code()), response.status_message());
}

class RunnerClient final : public Runner {
 public:
  RunnerClient(RunnerOptions options, WorkDirectory directory)
      : options_(std::move(options)), directory_(std::move(directory)), peaks_(options_.peaks) {}
  ~RunnerClient() override { EndProcess(); }

  // Starts the process and greets it, which says what the device is.
  Status StartProcess() ABSL_LOCKS_EXCLUDED(mutex_) {
    if (IsStopping()) return Cancelled("no runner is started any more");
    MDH_RETURN_IF_ERROR(directory_.Empty());
    MDH_ASSIGN_OR_RETURN(ProcessSession started,
                         ProcessSession::Start(options_.program, options_.path));
    directory_.NoteProcess(started.pid());
    {
      absl::MutexLock lock(&mutex_);
      session_ = std::move(started);
    }
    v1::RunnerRequest request;
    v1::RunnerHello& hello = *request.mutable_hello();
    hello.set_directory(directory_.files());
    hello.set_threads(options_.threads);
    hello.set_device(options_.device);
    hello.mutable_cores()->Add(options_.cores.begin(), options_.cores.end());
    if (peaks_) *hello.mutable_peaks() = ToMessage(*peaks_);
    hello.set_confinement(static_cast<int32_t>(options_.confinement));
    const Result<v1::RunnerResponse> response = Exchange(request, options_.answer_limit_ns);
    if (response.ok()) {
      {
        absl::MutexLock lock(&mutex_);
        has_greeted_ = true;
      }
      MDH_ASSIGN_OR_RETURN(DeviceDescription found, FromProto(response->ready().device()));
      NoteCompilers(response->ready(), found.compiler);
      device_ = std::move(found);
      confinement_ = response->ready().confinement();
      return absl::OkStatus();
    }
    const bool is_silent = is_hanging();
    const std::string how = EndProcess();
    if (!absl::IsUnavailable(response.status())) return response.status();
    if (IsStopping()) return Cancelled("no runner is started any more");
    if (is_silent) {
      return DeadlineExceeded("the runner ", options_.program, " was not ready after ",
                              options_.answer_limit_ns / 1'000'000'000,
                              " s: a compiler or a driver hangs");
    }
    return FailedPrecondition("the runner ", options_.program, " ended before it was ready: ", how);
  }

  const DeviceDescription& device() const override { return device_; }
  std::string confinement() const override { return confinement_; }

  bool HasNewCompilers() const override {
    absl::MutexLock lock(&mutex_);
    return compiles_differently_ || std::ranges::any_of(compilers_, [](const auto& compiler) {
             return IdentityOf(compiler.first) != compiler.second;
           });
  }

  Status SetProblem(const ComputationView& computation, uint64_t seed,
                    const Numerics& numerics) override {
    MDH_RETURN_IF_ERROR(CheckIdle());
    problem_.emplace();
    problem_->set_numerics_policy(static_cast<int32_t>(numerics.policy));
    problem_->set_tolerance(numerics.tolerance);
    problem_->set_expression(ToText(computation));
    problem_->set_seed(seed);
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/false));
    const Status status = SendProblem();
    if (!status.ok()) problem_.reset();
    return status;
  }

  Result<int64_t> LoopNestTime() override {
    MDH_RETURN_IF_ERROR(CheckIdle());
    MDH_ASSIGN_OR_RETURN(const int64_t left_ns, TimeLeft());
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/true));
    v1::RunnerRequest request;
    request.mutable_loop_nest_time()->set_time_limit_ns(left_ns);
    MDH_ASSIGN_OR_RETURN(const v1::RunnerResponse response, Call(request, kProblemLimit));
    return response.loop_nest_time_ns();
  }

  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions& options) override {
    if (!problem_) return FailedPrecondition("no problem was set before Submit");
    // With others under way, Next notices that the process is gone, and starts it again.
    if (submitted_.empty()) MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/true));
    Submitted& submitted = submitted_[++last_token_];
    submitted.number = number;
    v1::RunnerSubmit& submit = *submitted.request.mutable_submit();
    submit.set_number(last_token_);
    *submit.mutable_kernel() = ToMessage(kernel);
    *submit.mutable_options() = ToMessage(options);
    ReceiveWhatIsThere();
    Send(submitted.request).IgnoreError();
    return absl::OkStatus();
  }

  Result<Finished> Next() override {
    while (finished_.empty()) {
      if (submitted_.empty()) return FailedPrecondition("no kernel is submitted");
      Status status = error_.ok() ? Receive() : std::exchange(error_, absl::OkStatus());
      if (absl::IsUnavailable(status)) status = Recover();
      if (status.ok()) continue;
      submitted_.clear();
      finished_.clear();
      return status;
    }
    Finished first = std::move(finished_.front());
    finished_.pop_front();
    return first;
  }

  Result<MachinePeaks> Peaks() override {
    if (peaks_) return *peaks_;
    return AskForPeaks(/*again=*/false);
  }

  Result<MachinePeaks> MeasurePeaksAgain() override { return AskForPeaks(/*again=*/true); }

  Result<MachinePeaks> AskForPeaks(bool again) {
    MDH_RETURN_IF_ERROR(CheckIdle());
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/false));
    v1::RunnerRequest request;
    request.mutable_peaks()->set_again(again);
    MDH_ASSIGN_OR_RETURN(const v1::RunnerResponse response,
                         Call(request, options_.answer_limit_ns));
    peaks_ = FromMessage(response.peaks());
    return *peaks_;
  }

  Status Health() override {
    MDH_RETURN_IF_ERROR(CheckIdle());
    if (HasNewCompilers()) EndProcess();
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/false));
    {
      absl::MutexLock lock(&mutex_);
      compiles_differently_ = false;
    }
    v1::RunnerRequest request;
    request.mutable_health();
    return Call(request, options_.answer_limit_ns).status();
  }

  void Interrupt() override {
    absl::MutexLock lock(&mutex_);
    InterruptAll();
  }

  void SetDeadline(int64_t deadline_ns) override {
    absl::MutexLock lock(&mutex_);
    deadline_ns_ = deadline_ns;
  }

  void SetStepListener(OnStep on_step) override { on_step_ = std::move(on_step); }

 private:
  struct Submitted {
    int64_t number = 0;
    v1::RunnerRequest request;
    bool is_started = false;
    int deaths = 0;  // of the runner while it measured this one
  };

  void InterruptAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (interrupted_up_to_ < last_id_) interrupted_ns_ = NowNs();
    interrupted_up_to_ = last_id_;
    if (!session_) return;
    v1::RunnerRequest request;
    request.set_id(last_id_);
    request.mutable_interrupt()->set_request_id(last_id_);
    // If the runner is gone, whoever waits for it notices.
    SendMessage(session_->socket(), request).IgnoreError();
  }

  // Until the deadline; 0 if there is none. Errors: Cancelled if it is over.
  Result<int64_t> TimeLeft() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (deadline_ns_ == 0) return 0;
    const int64_t left_ns = deadline_ns_ - NowNs();
    if (left_ns <= 0) return Cancelled("the time is over");
    return left_ns;
  }

  Status CheckIdle() const {
    if (submitted_.empty() && finished_.empty()) return absl::OkStatus();
    return FailedPrecondition("kernels are submitted that were not handed out yet");
  }

  Status SendProblem() {
    MDH_ASSIGN_OR_RETURN(const int64_t left_ns, TimeLeft());
    v1::RunnerRequest request;
    *request.mutable_set_problem() = *problem_;
    request.mutable_set_problem()->set_time_limit_ns(left_ns);
    return Call(request, kProblemLimit).status();
  }

  void NoteCompilers(const v1::RunnerReady& ready, const std::string& description) {
    absl::MutexLock lock(&mutex_);
    if (!device_.compiler.empty() && device_.compiler != description) compiles_differently_ = true;
    compilers_.clear();
    for (const std::string& path : ready.compilers()) compilers_[path] = IdentityOf(path);
  }

  // A runner that died is started again, with the problem that it had.
  Status EnsureProcess(bool with_problem) {
    {
      absl::MutexLock lock(&mutex_);
      if (session_ && !session_->IsGone()) return absl::OkStatus();
    }
    EndProcess();
    Status status;
    // The new one may be killed, too, before it is ready.
    for (int death = 0; death < kMostDeaths; ++death) {
      status = StartProcess();
      // It was ready once: what ends it now may pass.
      if (absl::IsFailedPrecondition(status)) status = Unavailable(status.message());
      if (status.ok() && with_problem && problem_) status = SendProblem();
      if (status.ok() || absl::IsCancelled(status) || absl::IsDeadlineExceeded(status)) break;
    }
    return status;
  }

  // Gives the request its id.
  Status Send(v1::RunnerRequest& request) {
    absl::MutexLock lock(&mutex_);
    request.set_id(++last_id_);
    heard_ns_ = NowNs();  // from now on
    if (!session_) return Unavailable("the runner is gone");
    const Status sent = SendMessage(session_->socket(), request);
    // Where it is still there nobody reads, and a part of a message makes no sense to anybody.
    if (!sent.ok()) hangs_ = !session_->IsGone();
    return sent;
  }

  int Socket() {
    absl::MutexLock lock(&mutex_);
    return session_ ? session_->socket() : -1;
  }

  bool IsInterrupted(uint64_t request) {
    absl::MutexLock lock(&mutex_);
    return request <= interrupted_up_to_;
  }

  // Waits until there is something to receive. Errors: Unavailable if the runner hangs: it says
  // nothing for `silence_ns`, or after the request was interrupted.
  Status AwaitMessage(int socket, uint64_t request, int64_t silence_ns) {
    constexpr int kStepMs = 100;
    for (pollfd entry = {socket, POLLIN, 0}; poll(&entry, 1, kStepMs) <= 0;) {
      const int64_t now_ns = NowNs();
      absl::MutexLock lock(&mutex_);
      if (hangs_ || (IsStopping() && !has_greeted_)) return Hangs();
      const bool is_late = deadline_ns_ != 0 && now_ns > deadline_ns_ && has_greeted_;
      if ((is_late || IsStopping()) && request > interrupted_up_to_) InterruptAll();
      const int64_t limit_ns = IsStopping() ? std::min(kLastLimit, options_.interrupt_limit_ns)
                                            : options_.interrupt_limit_ns;
      const bool is_deaf = request <= interrupted_up_to_ && now_ns - interrupted_ns_ > limit_ns;
      if (is_deaf || now_ns - heard_ns_ > silence_ns) return Hangs();
    }
    absl::MutexLock lock(&mutex_);
    heard_ns_ = NowNs();
    return absl::OkStatus();
  }

  bool IsStopping() const { return options_.is_stopping != nullptr && *options_.is_stopping; }

  // For how long a runner may work on what is submitted without a word.
  int64_t LongestSilence() const {
    int64_t longest_ns = 0;
    for (const auto& [token, submitted] : submitted_) {
      const v1::RunnerMeasureOptions& limits = submitted.request.submit().options();
      longest_ns = std::max(longest_ns, kMostCompilations * limits.compile_limit_ns() +
                                            kMostRuns * limits.run_limit_ns());
    }
    return options_.answer_limit_ns + longest_ns;
  }

  // Waits for one message about kernels that are submitted. Errors: Unavailable if the runner is
  // gone, else what it says.
  Status Receive() {
    v1::RunnerResponse response;
    const int socket = Socket();
    if (socket < 0) return Unavailable("the runner is gone");
    if (!submitted_.empty()) {
      const uint64_t oldest = submitted_.begin()->second.request.id();
      MDH_RETURN_IF_ERROR(AwaitMessage(socket, oldest, LongestSilence()));
    }
    MDH_RETURN_IF_ERROR(ReceiveWhole(socket, response));
    return Take(response);
  }

  // Errors: Unavailable if the runner is gone or hangs in the middle of a message.
  Status ReceiveWhole(int socket, v1::RunnerResponse& response) {
    const Status received = ReceiveMessage(socket, response, kMessageLimit);
    if (!absl::IsDeadlineExceeded(received)) return received;
    absl::MutexLock lock(&mutex_);
    return Hangs();
  }

  bool is_hanging() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return hangs_;
  }
  Status Hangs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    hangs_ = true;
    return Unavailable("the runner hangs");
  }

  Status Take(const v1::RunnerResponse& response) {
    if (response.last()) {
      const bool is_old =
          submitted_.empty() || response.id() < submitted_.begin()->second.request.id();
      return is_old ? absl::OkStatus() : StatusOf(response);
    }
    const int64_t token =
        response.has_measured() ? response.measured().number() : response.started();
    const auto found = submitted_.find(token);
    // Not there: of an earlier batch, which ended with an error.
    if (found == submitted_.end()) return absl::OkStatus();
    if (response.has_measured()) {
      if (response.measured().has_peaks()) peaks_ = FromMessage(response.measured().peaks());
      finished_.push_back({found->second.number, FromMessage(response.measured())});
      submitted_.erase(found);
      deaths_ = 0;
    } else {
      found->second.is_started = true;
    }
    return absl::OkStatus();
  }

  // So that the runner never waits for room to answer while this process waits for room to ask.
  void ReceiveWhatIsThere() {
    pollfd entry = {Socket(), POLLIN, 0};
    while (entry.fd >= 0 && poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) != 0) {
      const Status status = Receive();
      if (status.ok()) continue;
      if (!absl::IsUnavailable(status)) error_ = status;  // for Next, which meets the others again
      return;
    }
  }

  // After the runner's end all kernels are submitted again. Kernels do not run in the runner
  // itself: that its end is the doing of the one that it measured is believed after a few times
  // only.
  Status Recover() {
    const std::string lost = absl::StrCat("the runner ended: ", EndProcess());
    bool is_progress = false;
    for (auto it = submitted_.begin(); it != submitted_.end();) {
      Submitted& submitted = it->second;
      const bool is_cancelled = IsInterrupted(submitted.request.id());
      submitted.deaths += submitted.is_started ? 1 : 0;
      submitted.is_started = false;
      if (!is_cancelled && submitted.deaths < kMostDeaths) {
        ++it;
        continue;
      }
      finished_.push_back({submitted.number, is_cancelled
                                                 ? CancelledMeasurement()
                                                 : Failed(TrialOutcome::kLaunchError, lost)});
      it = submitted_.erase(it);
      is_progress = true;
    }
    deaths_ = is_progress ? 0 : deaths_ + 1;
    if (deaths_ >= kMostDeaths) return Unavailable(lost);
    if (submitted_.empty()) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(EnsureProcess(/*with_problem=*/true));
    for (auto& [token, submitted] : submitted_) Send(submitted.request).IgnoreError();
    return absl::OkStatus();
  }

  // For requests without a result to be had in part: a runner that ends is an error.
  Result<v1::RunnerResponse> Call(v1::RunnerRequest& request, int64_t silence_ns) {
    Result<v1::RunnerResponse> response = Exchange(request, silence_ns);
    if (!absl::IsUnavailable(response.status())) return response;
    const std::string lost = absl::StrCat("the runner ended: ", EndProcess());
    if (IsInterrupted(request.id())) return Cancelled(lost);
    return Unavailable(lost);
  }

  // Sends a request and waits for its answer. Errors: Unavailable if the runner is gone or hangs,
  // else what the runner says.
  Result<v1::RunnerResponse> Exchange(v1::RunnerRequest& request, int64_t silence_ns) {
    MDH_RETURN_IF_ERROR(Send(request));
    const int socket = Socket();
    v1::RunnerResponse response;
    do {
      MDH_RETURN_IF_ERROR(AwaitMessage(socket, request.id(), silence_ns));
      MDH_RETURN_IF_ERROR(ReceiveWhole(socket, response));
      if (response.has_step() && response.id() == request.id() && on_step_) {
        on_step_(static_cast<ProblemStep>(response.step()));
      }
    } while (!response.last() || response.id() != request.id());
    MDH_RETURN_IF_ERROR(StatusOf(response));
    return response;
  }

  std::string EndProcess() {
    absl::MutexLock lock(&mutex_);
    const int64_t patience_ns = hangs_         ? 0
                                : IsStopping() ? kLastPatience
                                               : ProcessSession::kPatience;
    std::string how = session_ ? session_->End(patience_ns) : "";
    hangs_ = false;
    session_.reset();
    has_greeted_ = false;
    return how;
  }

  const RunnerOptions options_;
  DeviceDescription device_;
  std::string confinement_;
  WorkDirectory directory_;  // outlives the process
  std::optional<v1::RunnerSetProblem> problem_;
  std::optional<MachinePeaks> peaks_;
  int64_t last_token_ = 0;
  std::map<int64_t, Submitted> submitted_;  // by token, the runner's number
  std::deque<Finished> finished_;
  Status error_ = absl::OkStatus();  // that Submit met
  int deaths_ = 0;
  OnStep on_step_;
  // Guards what Interrupt uses, and that only one thread sends.
  mutable absl::Mutex mutex_;
  std::optional<ProcessSession> session_ ABSL_GUARDED_BY(mutex_);
  bool compiles_differently_ ABSL_GUARDED_BY(mutex_) = false;  // than device_ said before a restart
  // What was at their paths when the runner tried them.
  std::map<std::string, std::optional<FileIdentity>> compilers_ ABSL_GUARDED_BY(mutex_);
  bool has_greeted_ ABSL_GUARDED_BY(mutex_) = false;  // the session's program
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t heard_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // when it said, or was asked, something last
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t interrupted_up_to_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t interrupted_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t deadline_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: none
};

}  // namespace

Result<std::unique_ptr<Runner>> Runner::Start(RunnerOptions options) {
  MDH_RETURN_IF_ERROR(ParseDeviceSelector(options.device).status());
  MDH_ASSIGN_OR_RETURN(WorkDirectory directory,
                       WorkDirectory::Create(options.work_directory, options.trusted));
  auto client = std::make_unique<RunnerClient>(std::move(options), std::move(directory));
  MDH_RETURN_IF_ERROR(client->StartProcess());
  return client;
}

}  // namespace mdh
