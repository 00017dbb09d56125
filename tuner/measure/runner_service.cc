#include "tuner/measure/runner_service.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/text/computation_text.h"
#include "proto/device_conversion.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/measure/compile/attached_device.h"
#include "tuner/measure/compile/compiler_folders.h"
#include "tuner/measure/cpu_harness.h"
#include "tuner/measure/device_harness.h"
#include "tuner/measure/results/plausibility.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/measure/trial/verdict.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Kernels that are compiled, or wait for that, or to be measured; the others wait as text.
constexpr size_t kMostCompiling = 64;
constexpr int64_t kPatience = 50'000'000;
// How often the machine's speed is looked at, how far it may be off, and how often a kernel is
// measured again in the hope that it comes back.
constexpr int64_t kDriftPeriod = 5'000'000'000;
constexpr double kDriftTolerance = 0.03;
constexpr int kMostAttempts = 3;
// Peaks take a second or two, so that they are not measured again for every kernel.
constexpr int64_t kPeaksPeriod = 10'000'000'000;

}  // namespace

RunnerService::RunnerService(RunnerChannel& channel, RunnerProcessOptions options)
    : channel_(channel), options_(std::move(options)) {
  channel_.set_background(
      {.on_submit = [this](const auto& request) { Submit(request); },
       .advance = [this] { Advance(); },
       .sockets =
           [this] { return harness_ == nullptr ? std::vector<int>() : harness_->Sockets(); }});
}

void RunnerService::Answer(const v1::RunnerRequest& request) {
  channel_.set_current(request.id());
  v1::RunnerResponse response;
  const Status status = Call(request, response);
  response.set_last(true);
  response.set_status_code(static_cast<int>(status.code()));
  response.set_status_message(std::string(status.message()));
  channel_.Send(request.id(), std::move(response));
}

Status RunnerService::Call(const v1::RunnerRequest& request, v1::RunnerResponse& response) {
  if (request.call_case() == v1::RunnerRequest::kHello) return Hello(request.hello(), response);
  if (harness_ == nullptr) return FailedPrecondition("the runner was not greeted");
  switch (request.call_case()) {
    case v1::RunnerRequest::kSetProblem:
      return SetProblem(request.set_problem());
    case v1::RunnerRequest::kLoopNestTime: {
      MDH_ASSIGN_OR_RETURN(const int64_t time_ns,
                           harness_->LoopNestTime(request.loop_nest_time().time_limit_ns()));
      response.set_loop_nest_time_ns(time_ns);
      return absl::OkStatus();
    }
    case v1::RunnerRequest::kPeaks: {
      MDH_ASSIGN_OR_RETURN(const MachinePeaks peaks, Peaks(request.peaks().again()));
      *response.mutable_peaks() = ToMessage(peaks);
      return absl::OkStatus();
    }
    case v1::RunnerRequest::kHealth:
      return harness_->Health();
    default:
      return InvalidArgument("the runner does not know this request");
  }
}

Status RunnerService::ConfineMyself(const v1::RunnerHello& hello, DeviceKind kind) {
  if (!confinement_.empty()) return absl::OkStatus();
  ConfinementOptions confinement = {.mode = static_cast<ConfinementMode>(hello.confinement()),
                                    .kind = kind,
                                    .work_directory = hello.directory(),
                                    .visible = options_.visible,
                                    .socket = options_.socket};
  for (const absl::string_view folder : absl::StrSplit(options_.path, ':')) {
    confinement.visible.emplace_back(folder);
  }
  if (kind == DeviceKind::kCpu) {
    for (std::string& needed : FoldersOfCompilers(options_.path, hello.directory(), channel_)) {
      confinement.visible.push_back(std::move(needed));
    }
  }
  if (BackendOf(kind).has_blocks) {
    for (std::string& folder : DriverOf(kind).folders(options_.cuda_root)) {
      confinement.visible.push_back(std::move(folder));
    }
  }
  // Parents before what is in them.
  std::ranges::sort(confinement.visible);
  if (kind != DeviceKind::kCpu) {
    confinement.check = [&] {
      const DriverOptions drivers = {.cuda_root = options_.cuda_root,
                                     .directory = hello.directory(),
                                     .cores = hello.cores_size()};
      return OpenAttachedDevice(*ParseDeviceSelector(hello.device()), drivers).status();
    };
  }
  MDH_ASSIGN_OR_RETURN(confinement_, Confine(confinement));
  return absl::OkStatus();
}

Status RunnerService::Hello(const v1::RunnerHello& hello, v1::RunnerResponse& response) {
  MDH_ASSIGN_OR_RETURN(const DeviceSelector selector, ParseDeviceSelector(hello.device()));
  MDH_RETURN_IF_ERROR(ConfineMyself(hello, selector.kind));
  MDH_RETURN_IF_ERROR(RestrictToCores({hello.cores().begin(), hello.cores().end()}));
  if (hello.has_peaks()) peaks_ = FromMessage(hello.peaks());
  if (selector.kind == DeviceKind::kCpu) {
    MDH_ASSIGN_OR_RETURN(harness_, MakeCpuHarness({.path = options_.path,
                                                   .directory = hello.directory(),
                                                   .threads = hello.threads()},
                                                  channel_));
  } else {
    MDH_ASSIGN_OR_RETURN(harness_, MakeDeviceHarness({.selector = selector,
                                                      .path = options_.path,
                                                      .cuda_root = options_.cuda_root,
                                                      .directory = hello.directory(),
                                                      .restricted_cores = hello.cores_size()},
                                                     channel_));
  }
  *response.mutable_ready()->mutable_device() = ToProto(harness_->device());
  response.mutable_ready()->set_confinement(confinement_);
  for (std::string& path : harness_->CompilerPaths()) {
    response.mutable_ready()->add_compilers(std::move(path));
  }
  return absl::OkStatus();
}

Status RunnerService::SetProblem(const v1::RunnerSetProblem& request) {
  v1::RunnerSetProblem without_limit = request;
  without_limit.clear_time_limit_ns();
  std::string text = without_limit.SerializeAsString();
  if (!problem_.empty() && problem_ == text) return absl::OkStatus();
  problem_.clear();
  has_reference_ = false;
  MDH_ASSIGN_OR_RETURN(Computation computation, ParseComputation(request.expression()));
  expression_.reset();
  if (const auto* one = std::get_if<Expression>(&computation)) expression_ = *one;
  policy_ = static_cast<NumericsPolicy>(request.numerics_policy());
  const ProblemOptions options = {.seed = request.seed(),
                                  .numerics = {policy_, request.tolerance()},
                                  .time_limit_ns = request.time_limit_ns(),
                                  .on_step = [this](ProblemStep step) {
                                    v1::RunnerResponse response;
                                    response.set_step(static_cast<int>(step));
                                    channel_.Send(channel_.current(), std::move(response));
                                  }};
  MDH_RETURN_IF_ERROR(harness_->SetProblem(std::move(computation), options));
  problem_ = std::move(text);
  return absl::OkStatus();
}

Result<MachinePeaks> RunnerService::Peaks(bool again) {
  if (peaks_ && !again) return *peaks_;
  MDH_ASSIGN_OR_RETURN(const MachinePeaks measured, harness_->Peaks());
  peaks_ = peaks_ ? Better(*peaks_, measured) : measured;
  return *peaks_;
}

void RunnerService::Submit(const v1::RunnerRequest& request) {
  const v1::RunnerSubmit& submit = request.submit();
  submitted_.push_back(
      {request.id(), submit.number(), FromMessage(submit.kernel()), FromMessage(submit.options())});
  StartCompilations();
}

void RunnerService::StartCompilations() {
  if (harness_ == nullptr || problem_.empty()) return;
  for (; compiling_ < std::min(submitted_.size(), kMostCompiling); ++compiling_) {
    const Submitted& next = submitted_[compiling_];
    harness_->Compile(next.number, next.kernel, next.options);
  }
}

void RunnerService::Advance() {
  if (harness_ == nullptr) return;
  if (Status status = harness_->Advance(); !status.ok() && background_.ok()) background_ = status;
}

void RunnerService::MeasureNext() {
  channel_.set_current(submitted_.front().request_id);
  if (channel_.interrupted()) return AnswerCancelled();
  if (problem_.empty()) {
    return GiveUp(FailedPrecondition("no problem was set before Submit"),
                  submitted_.front().request_id);
  }
  Advance();
  if (!background_.ok()) {
    return GiveUp(std::exchange(background_, absl::OkStatus()), submitted_.front().request_id);
  }
  const auto with_bench = submitted_.begin() + static_cast<std::ptrdiff_t>(compiling_);
  const auto next = std::find_if(submitted_.begin(), with_bench, [&](const Submitted& s) {
    return harness_->IsCompiled(s.number);
  });
  if (next == with_bench) return channel_.Wait(kPatience);
  const Submitted submitted = std::move(*next);
  submitted_.erase(next);
  --compiling_;
  StartCompilations();
  channel_.set_current(submitted.request_id);
  v1::RunnerResponse started;
  started.set_started(submitted.number);
  channel_.Send(submitted.request_id, std::move(started));
  const int64_t before_ns = NowNs();
  Result<Measurement> measurement = MeasureSteadily(submitted);
  harness_->Forget(submitted.number);
  if (!measurement.ok()) return GiveUp(measurement.status(), submitted.request_id);
  measurement->device_ns = NowNs() - before_ns;
  SendMeasured(submitted, *measurement);
}

Result<Measurement> RunnerService::MeasureSteadily(const Submitted& submitted) {
  std::optional<Measurement> fastest;
  for (int attempt = 1; attempt <= kMostAttempts; ++attempt) {
    MDH_ASSIGN_OR_RETURN(Measurement measurement,
                         harness_->Measure(submitted.number, submitted.kernel, submitted.options));
    MDH_RETURN_IF_ERROR(CheckPlausible(submitted, measurement));
    if (measurement.outcome != TrialOutcome::kOk) return measurement;
    if (!has_reference_) {
      harness_->SetReference(submitted.number, submitted.kernel);
      has_reference_ = true;
      MDH_ASSIGN_OR_RETURN(least_reference_ns_, harness_->TimeReference());
      next_check_ns_ = NowNs() + kDriftPeriod;
    }
    if (attempt > 1 || NowNs() >= next_check_ns_) {
      MDH_ASSIGN_OR_RETURN(measurement.drift, Drift());
      if (channel_.interrupted()) return CancelledMeasurement();
    }
    const bool is_steady = measurement.drift - 1 <= kDriftTolerance;
    if (!is_steady) measurement.is_disturbed = true;
    if (!fastest || measurement.time_ns() < fastest->time_ns()) fastest = std::move(measurement);
    if (is_steady) break;
  }
  return *std::move(fastest);
}

Result<double> RunnerService::Drift() {
  MDH_ASSIGN_OR_RETURN(const double now_ns, harness_->TimeReference());
  next_check_ns_ = NowNs() + kDriftPeriod;
  if (now_ns <= 0) return 1;
  // The first time, too, may have been taken on a busy machine.
  const bool is_least = least_reference_ns_ <= 0 || now_ns < least_reference_ns_;
  if (is_least) least_reference_ns_ = now_ns;
  return now_ns / least_reference_ns_;
}

Status RunnerService::CheckPlausible(const Submitted& submitted, Measurement& measurement) {
  MDH_ASSIGN_OR_RETURN(bool is_contradiction, ContradictsPeaks(submitted, measurement));
  if (!is_contradiction) return absl::OkStatus();
  const int64_t first_ns = measurement.time_ns();
  MDH_ASSIGN_OR_RETURN(measurement,
                       harness_->Measure(submitted.number, submitted.kernel, submitted.options));
  MDH_ASSIGN_OR_RETURN(is_contradiction, ContradictsPeaks(submitted, measurement));
  if (!is_contradiction) return absl::OkStatus();
  const auto time_ns = static_cast<double>(std::max(first_ns, measurement.time_ns()));
  std::optional<std::string> reason =
      WhyImpossible(*expression_, time_ns, harness_->device(), *peaks_, policy_);
  if (!reason) {
    peaks_ = RaisedBy(*expression_, time_ns, submitted.options.cache, harness_->device(), *peaks_);
    has_new_peaks_ = true;
    return absl::OkStatus();
  }
  const int64_t compile_ns = measurement.compile_ns;
  measurement = Failed(TrialOutcome::kImplausible, *std::move(reason));
  measurement.compile_ns = compile_ns;
  return absl::OkStatus();
}

Result<bool> RunnerService::ContradictsPeaks(const Submitted& submitted,
                                             const Measurement& measurement) {
  if (measurement.outcome != TrialOutcome::kOk || !peaks_) return false;
  // What a pipeline certainly computes depends on what is fused.
  if (!expression_) return false;
  const auto contradicts = [&] {
    return WhyImplausible(*expression_, static_cast<double>(measurement.time_ns()),
                          submitted.options.cache, harness_->device(), *peaks_, policy_)
        .has_value();
  };
  if (!contradicts()) return false;
  MDH_ASSIGN_OR_RETURN(const bool is_raised, RaisePeaks());
  return !is_raised || contradicts();
}

Result<bool> RunnerService::RaisePeaks() {
  if (NowNs() < next_peaks_ns_) return false;
  const Result<MachinePeaks> measured = harness_->Peaks();
  if (!measured.ok()) return measured.status();
  next_peaks_ns_ = NowNs() + kPeaksPeriod;
  peaks_ = Better(*peaks_, *measured);
  has_new_peaks_ = true;
  return true;
}

void RunnerService::SendMeasured(const Submitted& submitted, const Measurement& measurement) {
  v1::RunnerResponse response;
  *response.mutable_measured() = ToMessage(submitted.number, measurement);
  if (std::exchange(has_new_peaks_, false)) {
    *response.mutable_measured()->mutable_peaks() = ToMessage(*peaks_);
  }
  channel_.Send(submitted.request_id, std::move(response));
}

void RunnerService::AnswerCancelled() {
  const Measurement cancelled = CancelledMeasurement();
  std::deque<Submitted> others;
  for (Submitted& submitted : submitted_) {
    if (channel_.IsInterrupted(submitted.request_id)) {
      SendMeasured(submitted, cancelled);
    } else {
      others.push_back(std::move(submitted));
    }
  }
  submitted_ = std::move(others);
  compiling_ = 0;
  if (harness_ != nullptr) harness_->CancelCompilations();
  StartCompilations();
}

void RunnerService::GiveUp(const Status& status, uint64_t request_id) {
  v1::RunnerResponse response;
  response.set_last(true);
  response.set_status_code(static_cast<int>(status.code()));
  response.set_status_message(std::string(status.message()));
  channel_.Send(submitted_.empty() ? request_id : submitted_.back().request_id,
                std::move(response));
  submitted_.clear();
  compiling_ = 0;
  if (harness_ != nullptr) harness_->CancelCompilations();
}

}  // namespace mdh
