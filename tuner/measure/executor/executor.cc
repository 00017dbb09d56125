// The parent's side of an executor.
#include "tuner/measure/executor/executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuner/measure/executor/device_buffer.h"
#include "tuner/measure/executor/executor_progress.h"
#include "tuner/measure/trial/run_control.h"
#include "tuner/measure/trial/verdict.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

ExecutorProgress& ProgressOf(const ExecutorMemory& memory) {
  return *reinterpret_cast<ExecutorProgress*>(memory.progress.data());
}

Result<ExecutorMemory> MakeMemory(const std::vector<OutputBuffer>& outputs) {
  constexpr auto kZones = GuardedMemory::Zones::kNone;
  constexpr auto kSharing = GuardedMemory::Sharing::kShared;
  ExecutorMemory memory;
  MDH_ASSIGN_OR_RETURN(memory.progress,
                       GuardedMemory::Create(sizeof(ExecutorProgress), kZones, kSharing));
  new (memory.progress.data()) ExecutorProgress();
  for (const OutputBuffer& output : outputs) {
    for (std::vector<GuardedMemory>* copies : {&memory.first, &memory.last}) {
      const int64_t bytes = std::max<int64_t>(output.size_bytes, 1) + 2 * kDeviceGuardBytes;
      MDH_ASSIGN_OR_RETURN(GuardedMemory copy, GuardedMemory::Create(bytes, kZones, kSharing));
      copies->push_back(std::move(copy));
    }
  }
  return memory;
}

template <typename Numbers>
Snapshot SnapshotWithFound(absl::Span<const GuardedMemory> copies, std::byte poison,
                           const Numbers& found_right) {
  Snapshot snapshot = {
      .poison = poison, .accessible = {}, .found_right = {found_right.begin(), found_right.end()}};
  for (const GuardedMemory& copy : copies) {
    snapshot.accessible.emplace_back(copy.data(), static_cast<size_t>(copy.size()));
  }
  return snapshot;
}

}  // namespace

Result<std::unique_ptr<Executor>> Executor::Start(const ExecutorSetup& setup,
                                                  Supervisor& supervisor) {
  MDH_ASSIGN_OR_RETURN(ExecutorMemory made, MakeMemory(setup.outputs));
  const auto memory = std::make_shared<ExecutorMemory>(std::move(made));
  MDH_ASSIGN_OR_RETURN(HelperProcess helper, HelperProcess::Start({.name = "mdh-executor"}, [&] {
                         return ServeExecutions(setup, *memory);
                       }));
  v1::ExecutorResponse ready;
  const int64_t deadline_ns = NowNs() + kAsideLimit;
  MDH_RETURN_IF_ERROR(helper.Await(
      ready, [=] { return deadline_ns; }, supervisor,
      absl::StrCat("opening ", ToText(setup.selector))));
  const auto outcome = static_cast<TrialOutcome>(ready.outcome());
  if (outcome == TrialOutcome::kOutOfResources) return ResourceExhausted(ready.reason());
  if (outcome != TrialOutcome::kOk) return Internal(ready.reason());
  return std::unique_ptr<Executor>(new Executor(setup, memory, std::move(helper)));
}

Result<Executor::Execution> Executor::Run(const v1::ExecutorRequest& request,
                                          Supervisor& supervisor) {
  ExecutorProgress& progress = ProgressOf(*memory_);
  progress.calling_since_ns = 0;
  progress.done_calling_ns = 0;
  progress.have_last = false;
  const int64_t start_ns = NowNs(), limit_ns = request.options().run_limit_ns();
  const auto deadline_ns = [&] {
    if (const int64_t done = progress.done_calling_ns.load(); done != 0) return done + kAsideLimit;
    if (const int64_t since = progress.calling_since_ns.load(); since != 0) return since + limit_ns;
    return start_ns + kAsideLimit;
  };
  v1::ExecutorResponse response;
  // One that is gone shows when its answer is awaited.
  helper_.Send(request).IgnoreError();
  const Status status = helper_.Await(response, deadline_ns, supervisor, "the kernel");
  if (!status.ok()) {
    is_lost_ = true;
    if (absl::IsCancelled(status)) return status;
    return Lost(status, limit_ns);
  }
  is_lost_ = response.is_lost();
  Execution execution;
  execution.details.calls_per_time = response.calls_per_time();
  execution.details.registers_per_thread = response.registers_per_thread();
  execution.details.local_bytes_per_thread = response.local_bytes_per_thread();
  execution.details.shared_bytes_per_block = response.shared_bytes_per_block();
  const auto outcome = static_cast<TrialOutcome>(response.outcome());
  if (outcome != TrialOutcome::kOk) execution.failure = Failed(outcome, response.reason());
  execution.record = MakeRecord(response);
  return execution;
}

Executor::Execution Executor::Lost(const Status& status, int64_t run_limit_ns) {
  Execution execution;
  const ExecutorProgress& progress = ProgressOf(*memory_);
  const bool is_calling = progress.calling_since_ns.load() != 0;
  if (absl::IsDeadlineExceeded(status)) {
    execution.failure =
        Failed(TrialOutcome::kTimeout,
               is_calling ? absl::StrFormat("did not end within %g s", run_limit_ns * 1e-9)
                          : std::string(status.message()));
  } else {
    execution.failure =
        Failed(is_calling ? TrialOutcome::kCrash : TrialOutcome::kLaunchError,
               absl::StrCat(is_calling ? "" : "loading ", std::string(status.message())));
  }
  return execution;
}

RunRecord Executor::MakeRecord(const v1::ExecutorResponse& response) const {
  RunRecord record;
  record.phase = RunRecord::Phase::kDone;
  record.first_ns = response.first_ns();
  record.times_ns.assign(response.times_ns().begin(), response.times_ns().end());
  record.is_disturbed = response.is_disturbed();
  record.first = SnapshotWithFound(memory_->first, kFirstPoison, response.right_at_first());
  if (ProgressOf(*memory_).have_last) {
    record.last = SnapshotWithFound(memory_->last, kLastPoison, response.right_at_last());
  }
  record.data_offsets.assign(setup_.outputs.size(), kDeviceGuardBytes);
  record.keep_alive = memory_;
  return record;
}

CandidateRun Executor::AsCandidateRun(const MeasureOptions& options) const {
  CandidateRun run;
  run.inputs = setup_.inputs;
  run.outputs = setup_.outputs;
  run.options = options;
  return run;
}

}  // namespace mdh
