// Compiling kernels for a device, several at a time, in processes of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/device/compiler_report.h"
#include "tuner/measure/results/measure_options.h"
#include "tuner/measure/results/measurement.h"
#include "tuner/process/helper_process.h"

namespace mdh {

struct DeviceCompileOutcome {
  TrialOutcome outcome = TrialOutcome::kOk;  // or kCompileError, kOutOfResources
  std::string reason;
  std::string binary;
  std::string suffix;                        // of the names of functions in the binary
  std::vector<FunctionResources> functions;  // that the compiler reports on, without the suffix
  // 0: the binary was there already; of those that share a unit: its share.
  int64_t compile_ns = 0;
};

// Not thread-safe. Workers are started when there is something to compile, and again when they have
// ended; the latest kMostBinaries binaries are kept.
class DeviceCompilers {
 public:
  static constexpr size_t kMostBinaries = 64;
  // Kernels of one unit.
  static constexpr size_t kMostOfUnit = 4;

  // `serve`: what a worker does; `limits` of a worker; `workers`: how many at a time.
  DeviceCompilers(std::function<int()> serve, ChildLimits limits, int workers)
      : serve_(std::move(serve)), limits_(std::move(limits)), workers_(workers) {}

  // As far as the options speak of compiling. Only kernels in CUDA C++ share units.
  void Add(int64_t number, const v1::RunnerKernel& kernel, const MeasureOptions& options);
  // Starts compilations and collects those that ended; never waits. Errors: ResourceExhausted if
  // there are no processes to be had.
  Status Advance();
  // The outcome, which stays until Forget; nullptr while the kernel is compiled.
  const DeviceCompileOutcome* Find(int64_t number) const;
  void Forget(int64_t number) { done_.erase(number); }
  std::vector<int> Sockets() const;
  // Ends all compilations and forgets all kernels.
  void Cancel();
  // Until Resume, compilations stand still, and their limits do not count.
  void Pause();
  void Resume();

  // One kernel, waiting. Errors: Cancelled; as Advance.
  Result<DeviceCompileOutcome> Compile(const v1::RunnerKernel& kernel, int64_t limit_ns,
                                       Supervisor& supervisor);

 private:
  struct Job {
    int64_t number;
    v1::RunnerKernel kernel;
    bool may_share_unit;
    int64_t limit_ns;
    int killed_workers = 0;  // that had it
  };
  struct Worker {
    HelperProcess process;
    std::vector<Job> jobs = {};  // empty: it is idle
    int64_t started_ns = 0;      // with the jobs
  };

  // Looks what came of a worker's jobs, which it has no more then, and whether it can go on.
  [[nodiscard]] bool Check(Worker& worker);
  void Finish(const Job& job, DeviceCompileOutcome outcome);
  // All jobs of a worker. Of several, each is compiled for itself then, so that only those fail
  // that are to blame.
  void Fail(Worker& worker, const std::string& reason);
  void TakeAgain(Worker& worker);
  // The next job and those that it may share a unit with: no more than its share of the queue, as
  // workers that are idle cost more than units save.
  std::vector<Job> TakeUnit();
  // The recent ones are known by it.
  static std::string KeyOf(const v1::RunnerKernel& kernel, bool may_share_unit);
  // A worker without a job; nullptr if all have one. Starts one if there may be more.
  Result<Worker*> IdleWorker();

  std::function<int()> serve_;
  ChildLimits limits_;
  int workers_;
  std::list<Worker> running_;
  std::deque<Job> waiting_;
  std::map<int64_t, DeviceCompileOutcome> done_;
  // Kernels and what they were compiled to, the latest first.
  std::list<std::pair<std::string, DeviceCompileOutcome>> recent_;
  std::optional<int64_t> paused_since_ns_;
  int64_t last_own_ = 0;  // numbers of Compile, which are negative
};

}  // namespace mdh
