#include "tuner/measure/compile/device_compilers.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

constexpr int kMostKilledWorkers = 3;

}  // namespace

std::string DeviceCompilers::KeyOf(const v1::RunnerKernel& kernel, bool may_share_unit) {
  return absl::StrCat(kernel.SerializeAsString(), may_share_unit);
}

void DeviceCompilers::Add(int64_t number, const v1::RunnerKernel& kernel,
                          const MeasureOptions& options) {
  const bool may_share_unit = options.may_share_unit &&
                              kernel.language() == Name(Language::kCudaCxx) &&
                              kernel.compiler() != static_cast<int>(Compiler::kNvcc);
  const std::string key = KeyOf(kernel, may_share_unit);
  const auto found =
      std::ranges::find_if(recent_, [&](const auto& entry) { return entry.first == key; });
  if (found != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, found);
    DeviceCompileOutcome& outcome = done_[number];
    outcome = found->second;
    outcome.compile_ns = 0;
    return;
  }
  waiting_.push_back({number, kernel, may_share_unit, options.compile_limit_ns});
}

bool DeviceCompilers::Check(Worker& worker) {
  const int64_t passed_ns = NowNs() - worker.started_ns;
  if (!worker.process.IsReadable()) {
    const int64_t limit_ns = worker.jobs.front().limit_ns;
    if (passed_ns <= limit_ns) return true;
    Fail(worker, absl::StrFormat("compiling took longer than %g s", limit_ns * 1e-9));
    return false;
  }
  v1::CompileResponse response;
  if (!worker.process.Receive(response).ok()) {
    const ChildEnd end = worker.process.End();
    // Somebody else's kill, which need not have met the kernels' compilation at all: several idle
    // workers may be dying when they are given one.
    if (end.signal == SIGKILL && worker.jobs.front().killed_workers < kMostKilledWorkers) {
      for (Job& job : worker.jobs) ++job.killed_workers;
      TakeAgain(worker);
    } else {
      Fail(worker, absl::StrCat("the compiler ended by ", ToText(end)));
    }
    return false;
  }
  for (int k = 0; k < response.kernels_size(); ++k) {
    v1::CompiledKernel& compiled = *response.mutable_kernels(k);
    DeviceCompileOutcome outcome;
    outcome.outcome = static_cast<TrialOutcome>(compiled.outcome());
    outcome.reason = compiled.reason();
    outcome.binary = std::move(*compiled.mutable_binary());
    outcome.suffix = compiled.suffix();
    outcome.compile_ns = passed_ns / response.kernels_size();
    for (const v1::FunctionResources& function : compiled.functions()) {
      outcome.functions.push_back(FromMessage(function));
    }
    Finish(worker.jobs[static_cast<size_t>(k)], std::move(outcome));
  }
  worker.jobs.clear();
  return true;
}

void DeviceCompilers::Finish(const Job& job, DeviceCompileOutcome outcome) {
  if (outcome.outcome == TrialOutcome::kOk) {
    recent_.emplace_front(KeyOf(job.kernel, job.may_share_unit), outcome);
    if (recent_.size() > kMostBinaries) recent_.pop_back();
  }
  done_[job.number] = std::move(outcome);
}

void DeviceCompilers::Fail(Worker& worker, const std::string& reason) {
  if (worker.jobs.size() > 1) {
    for (Job& job : worker.jobs) job.may_share_unit = false;
    return TakeAgain(worker);
  }
  DeviceCompileOutcome outcome;
  outcome.outcome = TrialOutcome::kCompileError;
  outcome.reason = reason;
  outcome.compile_ns = NowNs() - worker.started_ns;
  Finish(worker.jobs.front(), std::move(outcome));
  worker.jobs.clear();
}

void DeviceCompilers::TakeAgain(Worker& worker) {
  waiting_.insert(waiting_.begin(), std::make_move_iterator(worker.jobs.begin()),
                  std::make_move_iterator(worker.jobs.end()));
  worker.jobs.clear();
}

std::vector<DeviceCompilers::Job> DeviceCompilers::TakeUnit() {
  const size_t share = waiting_.size() / static_cast<size_t>(workers_);
  const size_t most = std::clamp<size_t>(share, 1, kMostOfUnit);
  std::vector<Job> unit;
  unit.reserve(most);
  const auto is_alike = [&](const Job& next) {
    if (unit.empty()) return true;
    const v1::RunnerKernel &first = unit.front().kernel, &other = next.kernel;
    return unit.front().may_share_unit && next.may_share_unit &&
           std::ranges::equal(first.compile_options(), other.compile_options());
  };
  for (auto at = waiting_.begin(); at != waiting_.end() && unit.size() < most;) {
    if (!is_alike(*at)) {
      ++at;
      continue;
    }
    unit.push_back(std::move(*at));
    at = waiting_.erase(at);
  }
  return unit;
}

Result<DeviceCompilers::Worker*> DeviceCompilers::IdleWorker() {
  // What an idle one sends is its end.
  running_.remove_if(
      [](const Worker& worker) { return worker.jobs.empty() && worker.process.IsReadable(); });
  for (Worker& worker : running_) {
    if (worker.jobs.empty()) return &worker;
  }
  if (static_cast<int>(running_.size()) >= workers_) return nullptr;
  MDH_ASSIGN_OR_RETURN(HelperProcess process, HelperProcess::Start(limits_, serve_));
  return &running_.emplace_back(Worker{std::move(process)});
}

Status DeviceCompilers::Advance() {
  if (paused_since_ns_) return absl::OkStatus();
  running_.remove_if([&](Worker& worker) { return !worker.jobs.empty() && !Check(worker); });
  while (!waiting_.empty()) {
    MDH_ASSIGN_OR_RETURN(Worker* const worker, IdleWorker());
    if (worker == nullptr) break;
    worker->jobs = TakeUnit();
    worker->started_ns = NowNs();
    v1::CompileRequest request;
    for (const Job& job : worker->jobs) *request.add_kernels() = job.kernel;
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
    if (!worker.jobs.empty()) sockets.push_back(worker.process.socket());
  }
  return sockets;
}

void DeviceCompilers::Cancel() {
  running_.remove_if([](const Worker& worker) { return !worker.jobs.empty(); });
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
    if (!worker.jobs.empty()) worker.started_ns += NowNs() - *paused_since_ns_;
    worker.process.Continue();
  }
  paused_since_ns_.reset();
}

Result<DeviceCompileOutcome> DeviceCompilers::Compile(const v1::RunnerKernel& kernel,
                                                      int64_t limit_ns, Supervisor& supervisor) {
  const int64_t number = --last_own_;
  Add(number, kernel, {.compile_limit_ns = limit_ns});
  while (Find(number) == nullptr) {
    MDH_RETURN_IF_ERROR(Advance());
    if (Find(number) != nullptr) break;
    if (supervisor.interrupted()) {
      Cancel();
      return Cancelled("cancelled");
    }
    const std::vector<int> sockets = Sockets();
    supervisor.WaitFor(sockets, 50'000'000);
  }
  DeviceCompileOutcome outcome = *Find(number);
  Forget(number);
  return outcome;
}

}  // namespace mdh
