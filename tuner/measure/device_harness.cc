#include "tuner/measure/device_harness.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/allowed_cores.h"
#include "core/text/computation_text.h"
#include "proto/device_conversion.h"
#include "tuner/measure/compile/attached_device.h"
#include "tuner/measure/compile/compile_worker.h"
#include "tuner/measure/compile/compilers.h"
#include "tuner/measure/compile/device_compilers.h"
#include "tuner/measure/compile/spill_limit.h"
#include "tuner/measure/device_peaks.h"
#include "tuner/measure/executor/device_comparison.h"
#include "tuner/measure/executor/device_kernels.h"
#include "tuner/measure/executor/executor.h"
#include "tuner/measure/loop_nest.h"
#include "tuner/measure/plain_kernel.h"
#include "tuner/measure/problem.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/measure/trial/verdict.h"

namespace mdh {
namespace {

constexpr int kDeathsBeforeCanary = 3;  // in a row, before the canary is asked
constexpr int kMostWorkers = 32;
constexpr int64_t kOwnLimit = 120'000'000'000;  // of compiling and running kernels of our own
constexpr MeasureOptions kOwn = {.run_limit_ns = kOwnLimit};
constexpr int64_t kDeviceCompilerMemory = int64_t{16} << 30;

std::string Message(const Status& status) { return std::string(status.message()); }

class DeviceHarness final : public Harness {
 public:
  DeviceHarness(const DeviceHarnessOptions& options, DeviceDescription device,
                const std::string& platform, Supervisor& supervisor)
      : options_(options),
        device_(std::move(device)),
        // Kernels of PoCL run on the cores that compile.
        runs_on_host_(RunsOnHost(device_)),
        drivers_({.cuda_root = options.cuda_root,
                  .directory = options.directory,
                  .cores = options.restricted_cores}),
        compilers_([this] { return Serve(); }, WorkerLimits(platform), Workers()),
        supervisor_(supervisor) {}

  const DeviceDescription& device() const override { return device_; }
  std::vector<std::string> CompilerPaths() const override {
    return DriverOf(device_.kind).compiler_files(options_.cuda_root);
  }

  Status SetProblem(Computation computation, const ProblemOptions& options) override {
    const std::string text = ToText(computation);
    const bool is_known = checked_ == text && checked_numerics_ == options.numerics;
    checked_.clear();
    executor_.reset();
    spill_limit_.Reset();
    reference_.reset();
    loop_nest_.reset();
    ProblemOptions own = options;
    own.check_sample = !is_known;
    own.plain_kernel = [&](const Problem& problem, int64_t run_limit_ns) {
      return PlainOutputs(problem, run_limit_ns);
    };
    Result<std::unique_ptr<Problem>> created =
        Problem::Create(computation, own, std::move(problem_));
    if (absl::IsInternal(created.status())) {
      // The device's own plain kernel does not do: the loop nest on the CPU is slow, but there.
      MDH_RETURN_IF_ERROR(MakeLoopNest());
      own = options;
      own.plain_kernel = [&](const Problem& problem, int64_t run_limit_ns) {
        return loop_nest_->Outputs(problem, run_limit_ns);
      };
      created = Problem::Create(std::move(computation), own);
    }
    if (!created.ok()) return created.status();
    problem_ = *std::move(created);
    checked_ = text;
    checked_numerics_ = options.numerics;
    return absl::OkStatus();
  }

  Result<int64_t> LoopNestTime(int64_t time_limit_ns) override {
    if (problem_ == nullptr) return FailedPrecondition("no problem was set before LoopNestTime");
    if (problem_->is_of_pipeline()) return 0;
    MDH_RETURN_IF_ERROR(MakeLoopNest());
    return TimeOf(*loop_nest_, *problem_, time_limit_ns);
  }

  Result<MachinePeaks> Peaks() override {
    executor_.reset();
    MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                         Executor::Start(Setup({}, PeakOutputs()), supervisor_));
    return MeasureDevicePeaks(device_, [&](const Kernel& kernel) -> Result<CallTime> {
      MDH_ASSIGN_OR_RETURN(const Executor::Execution execution, RunOwn(*executor, kernel));
      if (execution.failure) {
        return Internal("a microbenchmark of the device failed: ", execution.failure->reason);
      }
      const std::vector<int64_t>& times = execution.record.times_ns;
      return CallTime{static_cast<double>(*std::ranges::min_element(times)),
                      execution.record.is_disturbed};
    });
  }

  Status Health() override { return unhealthy_.empty() ? absl::OkStatus() : AskCanary(); }

  void Compile(int64_t number, const Kernel& kernel, const MeasureOptions& options) override {
    compilers_.Add(number, ToMessage(kernel), options);
  }
  Status Advance() override { return compilers_.Advance(); }
  bool IsCompiled(int64_t number) override { return compilers_.Find(number) != nullptr; }
  std::vector<int> Sockets() const override { return compilers_.Sockets(); }
  void CancelCompilations() override { compilers_.Cancel(); }
  void Forget(int64_t number) override { compilers_.Forget(number); }

  Result<Measurement> Measure(int64_t number, const Kernel& kernel,
                              const MeasureOptions& options) override {
    if (!unhealthy_.empty()) MDH_RETURN_IF_ERROR(AskCanary());
    const DeviceCompileOutcome& compiled = *compilers_.Find(number);
    if (compiled.outcome != TrialOutcome::kOk) {
      Measurement failed = Failed(compiled.outcome, compiled.reason);
      failed.compile_ns = compiled.compile_ns;
      return failed;
    }
    if (std::string why = spill_limit_.Objection(compiled.functions, options); !why.empty()) {
      return GivenUp(compiled, std::move(why));
    }
    v1::ExecutorRequest request = Request(kernel, compiled, options);
    request.set_final_call(true);
    Result<Measurement> measurement = RunAndJudge(request, options);
    if (absl::IsCancelled(measurement.status())) return CancelledMeasurement();
    if (!measurement.ok()) return measurement;
    measurement->compile_ns = compiled.compile_ns;
    if (measurement->outcome == TrialOutcome::kOk) spill_limit_.Record(compiled.functions);
    return measurement;
  }

  void SetReference(int64_t number, const Kernel& kernel) override {
    reference_ = Request(kernel, *compilers_.Find(number), kReferenceTiming);
  }

  Result<double> TimeReference() override {
    if (!reference_) return 0;
    const Result<Measurement> measured = RunAndJudge(*reference_, kReferenceTiming);
    if (absl::IsCancelled(measured.status())) return 0;
    if (!measured.ok()) return measured.status();
    return static_cast<double>(measured->time_ns());
  }

 private:
  // Of a candidate that was compiled, and not run.
  static Measurement GivenUp(const DeviceCompileOutcome& compiled, std::string why) {
    Measurement failed = Failed(TrialOutcome::kOutOfResources, std::move(why));
    failed.compile_ns = compiled.compile_ns;
    for (const FunctionResources& function : compiled.functions) {
      failed.registers_per_thread = std::max(failed.registers_per_thread, function.registers);
      failed.local_bytes_per_thread = std::max(failed.local_bytes_per_thread, function.stack_bytes);
    }
    return failed;
  }

  // Only the loop nest needs compilers for the CPU.
  Status MakeLoopNest() {
    if (!host_compilers_) {
      MDH_ASSIGN_OR_RETURN(host_compilers_, Compilers::Find(options_.path, options_.directory,
                                                            Workers(), supervisor_));
    }
    if (!loop_nest_) loop_nest_.emplace(Workers(), *host_compilers_, supervisor_);
    return absl::OkStatus();
  }

  int Workers() const {
    const int cores = static_cast<int>(AllowedCores().size());
    return std::clamp(runs_on_host_ ? cores : cores - 1, 1, kMostWorkers);
  }

  // Drivers of GPUs reserve more address space than there is memory.
  ChildLimits WorkerLimits(const std::string& platform) const {
    const bool is_bounded = DriverOf(options_.selector.kind).has_nvrtc ||
                            absl::StrContains(platform, "Portable Computing Language");
    return {.address_space_bytes = is_bounded ? kDeviceCompilerMemory : 0,
            .nice = kNiceOfCompilers,
            .no_network = true,
            .name = "mdh-compile"};
  }

  int Serve() const {
    return ServeCompilations(
        {.selector = options_.selector, .device = device_, .drivers = drivers_});
  }

  ExecutorSetup Setup(std::vector<InputBuffer> inputs, std::vector<OutputBuffer> outputs) const {
    return {options_.selector, drivers_, std::move(inputs), std::move(outputs)};
  }

  // With what is known of the outputs.
  ExecutorSetup SetupOf(const Problem& problem) {
    CandidateRun run = problem.MakeRun("", "", 1, {});
    ExecutorSetup setup = Setup(std::move(run.inputs), std::move(run.outputs));
    bool has_large = false;
    for (const ReferenceBuffer& reference : problem.references()) {
      absl::Span<const std::byte>& right = setup.right_outputs.emplace_back();
      if (reference.is_right_itself()) right = reference.bytes;
      has_large |= static_cast<int64_t>(right.size()) >= kLeastComparedBytes;
    }
    for (const InputBuffer& input : setup.inputs) {
      has_large |= input.size_bytes >= kLeastComparedBytes;
    }
    if (has_large) setup.equality = Equality();
    return setup;
  }

  // Compiled when it is first needed; nullopt if that fails.
  std::optional<CompiledKernel> Equality() {
    if (equality_) return equality_;
    Kernel kernel = EqualityKernel(device_);
    Result<DeviceCompileOutcome> compiled =
        compilers_.Compile(ToMessage(kernel), kOwnLimit, supervisor_);
    if (compiled.ok() && compiled->outcome == TrialOutcome::kOk) {
      equality_ = CompiledKernel{std::move(kernel), std::move(compiled->binary)};
    }
    return equality_;
  }

  static v1::ExecutorRequest Request(const Kernel& kernel, const DeviceCompileOutcome& compiled,
                                     const MeasureOptions& options) {
    v1::ExecutorRequest request;
    *request.mutable_kernel() = ToMessage(kernel);
    request.mutable_kernel()->clear_source();
    for (v1::RunnerLaunch& launch : *request.mutable_kernel()->mutable_launches()) {
      launch.mutable_function()->append(compiled.suffix);
    }
    request.set_binary(compiled.binary);
    *request.mutable_options() = ToMessage(options);
    return request;
  }

  // A kernel of our own, compiled and run.
  Result<Executor::Execution> RunOwn(Executor& executor, const Kernel& kernel,
                                     const MeasureOptions& options = kOwn) {
    MDH_ASSIGN_OR_RETURN(const DeviceCompileOutcome compiled,
                         compilers_.Compile(ToMessage(kernel), kOwnLimit, supervisor_));
    if (compiled.outcome == TrialOutcome::kOk) {
      return executor.Run(Request(kernel, compiled, options), supervisor_);
    }
    Executor::Execution failed;
    failed.failure = Failed(compiled.outcome, compiled.reason);
    return failed;
  }

  // The reference of a large problem, from the device itself.
  Result<std::vector<std::vector<std::byte>>> PlainOutputs(const Problem& problem,
                                                           int64_t run_limit_ns) {
    const std::string& name = problem.expression().name();
    const auto failed = [&](const std::string& why) {
      return Internal("the plain kernel of ", name, " cannot be run: ", why);
    };
    const Result<Kernel> kernel =
        GeneratePlainKernel(problem.expression(), device_, problem.numerics().policy);
    if (!kernel.ok()) return failed(Message(kernel.status()));
    // What the problem knows of its outputs belongs to inputs that were drawn before.
    ExecutorSetup setup = SetupOf(problem);
    setup.right_outputs.clear();
    Result<std::unique_ptr<Executor>> executor = Executor::Start(setup, supervisor_);
    if (!executor.ok()) return executor.status();
    MDH_ASSIGN_OR_RETURN(const Executor::Execution execution,
                         RunOwn(**executor, *kernel,
                                {.run_limit_ns = run_limit_ns > 0 ? run_limit_ns : kOwnLimit,
                                 .min_repeats = 0,
                                 .max_repeats = 0}));
    if (execution.failure && execution.failure->outcome == TrialOutcome::kTimeout) {
      return DeadlineExceeded("the plain kernel of ", name, " ", execution.failure->reason);
    }
    if (execution.failure) return failed(execution.failure->reason);
    std::vector<std::vector<std::byte>> outputs;
    const auto& buffers = problem.expression().outputs();
    for (size_t b = 0; b < buffers.size(); ++b) {
      const std::byte* const data =
          execution.record.first->accessible[b].data() + execution.record.data_offsets[b];
      outputs.emplace_back(data, data + buffers[b].size_bytes());
    }
    return outputs;
  }

  // In the executor of the problem, which is started if there is none. Errors: Cancelled; as
  // Harness::Measure.
  Result<Measurement> RunAndJudge(const v1::ExecutorRequest& request,
                                  const MeasureOptions& options) {
    if (executor_ == nullptr || executor_->is_lost()) {
      executor_.reset();
      Result<std::unique_ptr<Executor>> started = Executor::Start(SetupOf(*problem_), supervisor_);
      if (absl::IsCancelled(started.status())) return started.status();
      if (!started.ok()) return Died(Failed(TrialOutcome::kLaunchError, Message(started.status())));
      executor_ = *std::move(started);
    }
    if (runs_on_host_) compilers_.Pause();
    Result<Executor::Execution> execution = executor_->Run(request, supervisor_);
    compilers_.Resume();
    const bool is_lost = executor_->is_lost();
    const CandidateRun run = executor_->AsCandidateRun(options);
    if (is_lost) executor_.reset();
    if (!execution.ok()) return execution.status();
    if (execution->failure && is_lost) return Died(*execution->failure);
    if (execution->failure) return *execution->failure;
    Measurement measurement = problem_->Judge(execution->record, run);
    measurement.calls_per_time = execution->details.calls_per_time;
    measurement.registers_per_thread = execution->details.registers_per_thread;
    measurement.local_bytes_per_thread = execution->details.local_bytes_per_thread;
    measurement.shared_bytes_per_block = execution->details.shared_bytes_per_block;
    // Writes behind the outputs may have met anything else.
    if (measurement.outcome == TrialOutcome::kOutOfBounds) executor_.reset();
    if (measurement.outcome == TrialOutcome::kOk) deaths_ = 0;
    return measurement;
  }

  // After the loss of an executor by a kernel with that measurement. Errors: the device fails
  // whatever it runs.
  Result<Measurement> Died(const Measurement& measurement) {
    if (++deaths_ < kDeathsBeforeCanary) return measurement;
    const Status status = AskCanary();
    if (!status.ok()) return status;
    return measurement;
  }

  // Whether the device works at all. Errors: FailedPrecondition, why it does not; Cancelled.
  Status AskCanary() {
    Status status = TryCanary();
    // What ended an executor may have been meant for the one before.
    for (int again = 1; again < kDeathsBeforeCanary && absl::IsInternal(status); ++again) {
      status = TryCanary();
    }
    if (status.ok()) {
      unhealthy_.clear();
      deaths_ = 0;
    }
    if (!absl::IsInternal(status)) return status;
    unhealthy_ = Message(status);
    return FailedPrecondition("unhealthy: ", ToText(options_.selector), ": ", unhealthy_);
  }

  // Whether a kernel that is known to be right is right on the device, in a new executor. Errors:
  // Internal if not; Cancelled.
  Status TryCanary() {
    std::vector<float> in(kCanaryElements);
    for (int64_t i = 0; i < kCanaryElements; ++i) in[i] = static_cast<float>(i * i % 1000);
    constexpr int64_t kBytes = kCanaryElements * int64_t{sizeof(float)};
    executor_.reset();
    const Result<std::unique_ptr<Executor>> executor =
        Executor::Start(Setup({{"in", reinterpret_cast<const std::byte*>(in.data()), kBytes}},
                              {{"out", ScalarType::kFloat32, kBytes}}),
                        supervisor_);
    if (absl::IsCancelled(executor.status())) return executor.status();
    if (!executor.ok()) return Internal(executor.status().message());
    MDH_ASSIGN_OR_RETURN(const Executor::Execution execution,
                         RunOwn(**executor, CanaryKernel(device_.kind)));
    if (execution.failure) return Internal(execution.failure->reason);
    std::vector<float> out(kCanaryElements);
    std::memcpy(out.data(),
                execution.record.first->accessible[0].data() + execution.record.data_offsets[0],
                static_cast<size_t>(kBytes));
    for (int64_t i = 0; i < kCanaryElements; ++i) {
      if (out[i] == in[i] + in[kCanaryElements - 1 - i]) continue;
      return Internal("a kernel that is right gives wrong results");
    }
    return absl::OkStatus();
  }

  const DeviceHarnessOptions options_;
  DeviceDescription device_;
  bool runs_on_host_;
  DriverOptions drivers_;
  DeviceCompilers compilers_;
  Supervisor& supervisor_;
  std::optional<Compilers> host_compilers_;
  std::unique_ptr<Problem> problem_;
  std::unique_ptr<Executor> executor_;  // of the problem
  SpillLimit spill_limit_;              // of its candidates
  std::optional<LoopNest> loop_nest_;
  std::string checked_;  // the expression whose plain kernel was compared with the interpreter
  Numerics checked_numerics_;
  std::optional<v1::ExecutorRequest> reference_;
  int deaths_ = 0;  // of executors in a row
  std::string unhealthy_;
  std::optional<CompiledKernel> equality_;
};

}  // namespace

Result<std::unique_ptr<Harness>> MakeDeviceHarness(const DeviceHarnessOptions& options,
                                                   Supervisor& supervisor) {
  const DriverOptions drivers = {.cuda_root = options.cuda_root,
                                 .directory = options.directory,
                                 .cores = options.restricted_cores};
  const Result<v1::RunnerAttachedDevice> attached =
      LookForDevice(options.selector, drivers, supervisor);
  if (absl::IsNotFound(attached.status())) {
    return FailedPrecondition(ToText(options.selector), ": ", Message(attached.status()));
  }
  if (!attached.ok()) return attached.status();
  MDH_ASSIGN_OR_RETURN(DeviceDescription device, FromProto(attached->description()));
  return std::make_unique<DeviceHarness>(options, std::move(device), attached->platform(),
                                         supervisor);
}

}  // namespace mdh
