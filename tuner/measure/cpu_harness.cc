#include "tuner/measure/cpu_harness.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "core/device/cgroup.h"
#include "core/device/host_cpu.h"
#include "core/text/computation_text.h"
#include "tuner/measure/compile/compilers.h"
#include "tuner/measure/loop_nest.h"
#include "tuner/measure/peaks.h"
#include "tuner/measure/problem.h"
#include "tuner/measure/trial/candidate_run.h"
#include "tuner/measure/trial/output_copies.h"
#include "tuner/measure/trial/verdict.h"

namespace mdh {
namespace {

class CpuHarness final : public Harness {
 public:
  CpuHarness(DeviceDescription device, int threads, const std::string& directory,
             Compilers compilers, Supervisor& supervisor)
      : device_(std::move(device)),
        threads_(threads),
        reference_library_(directory + "/reference.so"),
        compilers_(std::move(compilers)),
        supervisor_(supervisor) {
    DivideCores();
  }

  const DeviceDescription& device() const override { return device_; }
  std::vector<std::string> CompilerPaths() const override { return compilers_.Paths(); }

  Status SetProblem(Computation computation, const ProblemOptions& options) override {
    const std::string text = ToText(computation);
    const bool is_known = checked_ == text && checked_numerics_ == options.numerics;
    checked_.clear();
    reference_.reset();
    copies_.Drop();
    loop_nest_.emplace(threads_, compilers_, supervisor_);
    ProblemOptions own = options;
    // The loop nest does not change with the seed: one comparison with the interpreter is enough.
    own.check_sample = !is_known;
    own.plain_kernel = [&](const Problem& problem, int64_t run_limit_ns) {
      return loop_nest_->Outputs(problem, run_limit_ns);
    };
    MDH_ASSIGN_OR_RETURN(problem_,
                         Problem::Create(std::move(computation), own, std::move(problem_)));
    checked_ = text;
    checked_numerics_ = options.numerics;
    return absl::OkStatus();
  }

  Result<int64_t> LoopNestTime(int64_t time_limit_ns) override {
    if (problem_ == nullptr) return FailedPrecondition("no problem was set before LoopNestTime");
    if (problem_->is_of_pipeline()) return 0;
    return TimeOf(*loop_nest_, *problem_, time_limit_ns);
  }

  Result<MachinePeaks> Peaks() override {
    return MeasurePeaks(device_, threads_, compilers_, supervisor_);
  }

  // A candidate runs in a process of its own and leaves nothing of itself to the next one.
  Status Health() override { return absl::OkStatus(); }

  void Compile(int64_t number, const Kernel& kernel, const MeasureOptions& options) override {
    const KernelCall call = problem_->CallOf(kernel);
    CompileJob job = {.compiler = kernel.compiler,
                      .source = kernel.source + CallSource(call),
                      .options = CallOptions(call, kernel.compile_options),
                      .may_share_unit = options.may_share_unit};
    tickets_[number] = compilers_.Add(std::move(job), options.compile_limit_ns);
  }

  Status Advance() override {
    MDH_RETURN_IF_ERROR(compilers_.Advance());
    for (auto it = tickets_.begin(); it != tickets_.end();) {
      std::optional<CompileOutcome> outcome = compilers_.Take(it->second);
      if (outcome) compiled_[it->first] = *std::move(outcome);
      it = outcome ? tickets_.erase(it) : std::next(it);
    }
    return absl::OkStatus();
  }

  bool IsCompiled(int64_t number) override { return compiled_.count(number) > 0; }
  std::vector<int> Sockets() const override { return {}; }

  void CancelCompilations() override {
    compilers_.Cancel();
    tickets_.clear();
    compiled_.clear();
  }

  Result<Measurement> Measure(int64_t number, const Kernel& kernel,
                              const MeasureOptions& options) override {
    const CompileOutcome& compiled = compiled_.at(number);
    Measurement measurement;
    if (compiled.library.empty()) {
      measurement = Failed(TrialOutcome::kCompileError, compiled.reason);
    } else {
      CandidateRun run = problem_->MakeRun(compiled.library, kernel.entry, threads_, options);
      run.suffix = compiled.suffix;
      run.cores = measured_cores_;
      run.placement = placement_;
      MDH_ASSIGN_OR_RETURN(const RunRecord record, RunAlone(run));
      measurement = problem_->Judge(record, run);
    }
    measurement.compile_ns = compiled.compile_ns;
    return measurement;
  }

  void Forget(int64_t number) override { compiled_.erase(number); }

  void SetReference(int64_t number, const Kernel& kernel) override {
    // A copy, since libraries make room for later ones.
    std::error_code error;
    const CompileOutcome& compiled = compiled_.at(number);
    std::filesystem::copy_file(compiled.library, reference_library_,
                               std::filesystem::copy_options::overwrite_existing, error);
    if (error) return;
    reference_ = problem_->MakeRun(reference_library_, kernel.entry, threads_, kReferenceTiming);
    reference_->suffix = compiled.suffix;
    reference_->cores = measured_cores_;
    reference_->placement = placement_;
    reference_->final_call = false;
  }

  Result<double> TimeReference() override {
    if (!reference_) return 0;
    MDH_ASSIGN_OR_RETURN(const RunRecord record, RunAlone(*reference_));
    return static_cast<double>(Judge(record, *reference_, {}).time_ns());
  }

 private:
  // Compilations keep off the cores that are measured on, or stand still meanwhile.
  void DivideCores() {
    const std::vector<HardwareThread> hardware = ReadHardwareThreads();
    std::vector<int> cores = PlacementOrder(hardware);
    const auto threads = static_cast<std::ptrdiff_t>(threads_);
    if (AreUnlike(hardware)) {
      placement_ = cores;
      if (std::ssize(cores) > threads) placement_.resize(static_cast<size_t>(threads));
    } else {
      std::ranges::reverse(cores);  // the system's own work is on the first ones
    }
    if (std::ssize(cores) <= threads) return;
    measured_cores_.assign(cores.begin(), cores.begin() + threads);
    std::ranges::sort(measured_cores_);
    // What compilers use of a quota is missing elsewhere.
    const double quota = ReadCgroupLimits().cpus;
    compiles_beside_ = quota <= 0 || quota >= static_cast<double>(cores.size());
    if (compiles_beside_) compilers_.RunOn({cores.begin() + threads, cores.end()});
  }

  Result<RunRecord> RunAlone(const CandidateRun& run) {
    Status status = absl::OkStatus();
    const OtherWork compilations = {
        .advance =
            [&] {
              if (status.ok()) status = compilers_.Advance();
            },
        .pause =
            [&] {
              if (!compiles_beside_) compilers_.Pause();
            },
        .resume = [&] { compilers_.Resume(); },
    };
    Result<RunRecord> record = RunCandidate(run, supervisor_, compilations, copies_);
    MDH_RETURN_IF_ERROR(status);
    return record;
  }

  DeviceDescription device_;
  int threads_;
  std::string reference_library_;
  Compilers compilers_;
  Supervisor& supervisor_;
  std::vector<int> measured_cores_;  // empty: all
  std::vector<int> placement_;       // CandidateRun::placement
  bool compiles_beside_ = false;     // while something is measured
  std::unique_ptr<Problem> problem_;
  std::optional<LoopNest> loop_nest_;
  std::string checked_;  // the computation whose loop nest was compared with the interpreter
  Numerics checked_numerics_;
  std::map<int64_t, int64_t> tickets_;  // by number
  std::map<int64_t, CompileOutcome> compiled_;
  std::optional<CandidateRun> reference_;
  KeptCopies copies_;
};

}  // namespace

Result<std::unique_ptr<Harness>> MakeCpuHarness(const CpuHarnessOptions& options,
                                                Supervisor& supervisor) {
  MDH_ASSIGN_OR_RETURN(DeviceDescription device, DescribeHostCpu());
  const int threads = options.threads > 0 ? options.threads : device.cores;
  MDH_ASSIGN_OR_RETURN(Compilers compilers,
                       Compilers::Find(options.path, options.directory, device.cores, supervisor));
  device.compiler = compilers.Description();
  return std::make_unique<CpuHarness>(std::move(device), threads, options.directory,
                                      std::move(compilers), supervisor);
}

}  // namespace mdh
