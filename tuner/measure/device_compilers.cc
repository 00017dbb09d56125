#include "tuner/measure/device_compilers.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuner/measure/clock.h"
#include "tuner/measure/runner_messages.h"

namespace mdh {
namespace {

constexpr int kMostKilledWorkers = 3;

}  // namespace

void DeviceCompilers::Add(int64_t number, const v1::RunnerKernel& kernel, int64_t limit_ns) {
  const std::string key = kernel.SerializeAsString();
  const auto found = std::find_if(recent_.begin(), recent_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (found != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, found);
    DeviceCompileOutcome& outcome = done_[number];
    outcome = found->second;
    outcome.compile_ns = 0;
    return;
  }
  waiting_.push_back({number, kernel, limit_ns});
}

std::optional<DeviceCompileOutcome> DeviceCompilers::Check(Worker& worker, bool& is_lost) {
  const Job& job = *worker.job;
  DeviceCompileOutcome outcome;
  outcome.compile_ns = NowNs() - job.started_ns;
  outcome.outcome = TrialOutcome::kCompileError;
  if (worker.process.IsReadable()) {
    v1::CompileResponse response;
    is_lost = !worker.process.Receive(response).ok();
    if (!is_lost) {
      outcome.outcome = static_cast<TrialOutcome>(response.outcome());
      outcome.reason = response.reason();
      outcome.binary = std::move(*response.mutable_binary());
      for (const v1::FunctionResources& function : response.functions()) {
        outcome.functions.push_back(FromMessage(function));
      }
    } else {
      const ChildEnd end = worker.process.End();
      // Somebody else's kill, which need not have met the kernel's compilation at all: several idle
      // workers may be dying when they are given one.
      if (end.signal == SIGKILL && job.killed_workers < kMostKilledWorkers) {
        waiting_.push_front(job);
        ++waiting_.front().killed_workers;
        return std::nullopt;
      }
      outcome.reason = absl::StrCat("the compiler ended by ", ToText(end));
    }
    return outcome;
  }
  if (outcome.compile_ns <= job.limit_ns) return std::nullopt;
  is_lost = true;
  outcome.reason = absl::StrFormat("compiling took longer than %g s", job.limit_ns * 1e-9);
  return outcome;
}

void DeviceCompilers::Finish(const Job& job, DeviceCompileOutcome outcome) {
  if (outcome.outcome == TrialOutcome::kOk) {
    recent_.emplace_front(job.kernel.SerializeAsString(), outcome);
    if (recent_.size() > kMostBinaries) recent_.pop_back();
  }
  done_[job.number] = std::move(outcome);
}

Result<DeviceCompilers::Worker*> DeviceCompilers::IdleWorker() {
  // What an idle one sends is its end.
  running_.remove_if(
      [](const Worker& worker) { return !worker.job.has_value() && worker.process.IsReadable(); });
  for (Worker& worker : running_) {
    if (!worker.job) return &worker;
  }
  if (static_cast<int>(running_.size()) >= workers_) return nullptr;
  MDH_ASSIGN_OR_RETURN(HelperProcess process, HelperProcess::Start(limits_, serve_));
  return &running_.emplace_back(Worker{std::move(process), std::nullopt});
}

Status DeviceCompilers::Advance() {
  if (paused_since_ns_) return absl::OkStatus();
  for (auto it = running_.begin(); it != running_.end();) {
    bool is_lost = false;
    if (it->job) {
      if (std::optional<DeviceCompileOutcome> outcome = Check(*it, is_lost)) {
        Finish(*it->job, *std::move(outcome));
        it->job.reset();
      }
    }
    it = is_lost ? running_.erase(it) : std::next(it);
  }
  while (!waiting_.empty()) {
    MDH_ASSIGN_OR_RETURN(Worker* const worker, IdleWorker());
    if (worker == nullptr) break;
    Job& job = worker->job.emplace(std::move(waiting_.front()));
    waiting_.pop_front();
    job.started_ns = NowNs();
    v1::CompileRequest request;
    *request.mutable_kernel() = job.kernel;
    // One that is gone shows when its answer is read.
    worker->process.Send(request).IgnoreError();
  }
  return absl::OkStatus();
}

const DeviceCompileOutcome* DeviceCompilers::Find(int64_t number) const {
  const auto found = done_.find(number);
  return found == done_.end() ? nullptr : &found->second;
}

std::vector<int> DeviceCompilers::Sockets() const {
  std::vector<int> sockets;
  if (paused_since_ns_) return sockets;
  for (const Worker& worker : running_) {
    if (worker.job) sockets.push_back(worker.process.socket());
  }
  return sockets;
}

void DeviceCompilers::Cancel() {
  running_.remove_if([](const Worker& worker) { return worker.job.has_value(); });
  waiting_.clear();
  done_.clear();
}

void DeviceCompilers::Pause() {
  if (paused_since_ns_) return;
  paused_since_ns_ = NowNs();
  for (const Worker& worker : running_) worker.process.Stop();
}

void DeviceCompilers::Resume() {
  if (!paused_since_ns_) return;
  for (Worker& worker : running_) {
    if (worker.job) worker.job->started_ns += NowNs() - *paused_since_ns_;
    worker.process.Continue();
  }
  paused_since_ns_.reset();
}

Result<DeviceCompileOutcome> DeviceCompilers::Compile(const v1::RunnerKernel& kernel,
                                                      int64_t limit_ns, Supervisor& supervisor) {
  const int64_t number = --last_own_;
  Add(number, kernel, limit_ns);
  while (Find(number) == nullptr) {
    MDH_RETURN_IF_ERROR(Advance());
    if (Find(number) != nullptr) break;
    if (supervisor.interrupted()) {
      Cancel();
      return absl::CancelledError("cancelled");
    }
    const std::vector<int> sockets = Sockets();
    supervisor.WaitFor(sockets, 50'000'000);
  }
  DeviceCompileOutcome outcome = *Find(number);
  Forget(number);
  return outcome;
}

}  // namespace mdh
