// Several runners of devices that are alike, used as one: whichever is free measures the next
// kernel.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "tuner/measure/runner.h"

namespace mdh {

// One thread for each runner. A runner whose device gives up, or for which there is no thread, is
// left out from then on; what it had is measured by the others. So is what one is to have measured
// elsewhere of which it says nothing for much longer than kernels take (Runner::TakeBack), by
// runners that have nothing else to do; it is tried again with one at a time, more and more seldom,
// until it says something. All calls come from one thread.
class RunnerPool {
 public:
  // At least one runner; they must outlive the pool, and nobody else uses them meanwhile, except
  // for Interrupt. Each has at most `kernels_each` kernels at once.
  RunnerPool(absl::Span<Runner* const> runners, int kernels_each);
  // Waits for what is submitted, after interrupting it.
  ~RunnerPool();
  RunnerPool(const RunnerPool&) = delete;
  RunnerPool& operator=(const RunnerPool&) = delete;

  // On all runners at once. Expects that nothing is submitted. Errors: those of the first runner if
  // none is left that could.
  Status SetProblem(const Expression& expression, uint64_t seed, const Numerics& numerics);
  // Of all runners, also those that come later (Runner::SetDeadline).
  void SetDeadline(int64_t deadline_ns) ABSL_LOCKS_EXCLUDED(mutex_);
  // One more, which is given the problem by itself and then takes its share. Expects that
  // SetProblem was called.
  void Add(Runner* runner) ABSL_LOCKS_EXCLUDED(mutex_);

  void Submit(int64_t number, Kernel kernel, const MeasureOptions& options)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The next measurement, in any order. Errors: that of the last runner once none is left;
  // FailedPrecondition if nothing is submitted.
  Result<Runner::Finished> Next() ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives up what is submitted: Next hands it out soon, most of it as cancelled measurements.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);

  // One that can go on, for calls of its own while nothing is submitted; nullptr if there is none.
  // Waits for runners that were just added only if there is no other one.
  Runner* idle() ABSL_LOCKS_EXCLUDED(mutex_);
  // Leaves a runner out from now on.
  void LeaveOut(Runner* runner, const Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // How many runners can go on.
  int count() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Why the last one was left out; OK if none was.
  Status last_error() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Job {
    int64_t number;
    Kernel kernel;
    MeasureOptions options;
    int64_t taken_ns = 0;  // on the clock of NowNs(): by the member
  };
  struct Member {
    Runner* runner;
    bool is_left_out = false;
    bool is_joining = false;  // it is given the problem
    int silences = 0;         // how often all that it had was taken over, since it said something
    int64_t rests_until_ns = 0;      // on the clock of NowNs(): it is given nothing before
    std::deque<Job> submitted = {};  // to the runner
    std::thread thread = {};
  };

  struct Problem {
    Expression expression;
    uint64_t seed;
    Numerics numerics;
  };

  // Lets the member's thread do `work`; without one the member is left out.
  void StartMember(Member& member, std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  void Join(Member& member, const Problem& problem) ABSL_LOCKS_EXCLUDED(mutex_);
  void Work(Member& member) ABSL_LOCKS_EXCLUDED(mutex_);
  // Until there is something to do for the member.
  void AwaitWork(Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Queues what another member has had for too long; one kernel at most.
  void TakeOver(const Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes what is queued, as far as the member has room for it.
  std::vector<Job> Take(Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status SubmitTo(Member& member, std::vector<Job> jobs);
  void Finish(Member& member, Runner::Finished finished) ABSL_LOCKS_EXCLUDED(mutex_);
  void Fail(Member& member, const Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t kernels_each_;
  std::shared_ptr<const Problem> problem_;
  mutable absl::Mutex mutex_;
  // Changed with the mutex held by the thread that calls, which itself may read without. The
  // members' runners and threads are const; the rest of them is guarded by the mutex.
  std::vector<std::unique_ptr<Member>> members_;
  std::deque<Job> queue_ ABSL_GUARDED_BY(mutex_);
  std::deque<Runner::Finished> finished_ ABSL_GUARDED_BY(mutex_);
  int unfinished_ ABSL_GUARDED_BY(mutex_) = 0;  // submitted and not handed out
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  Status last_error_ ABSL_GUARDED_BY(mutex_);
  int64_t deadline_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of a kernel from the time that a member takes it to its measurement, about; 0: not known yet.
  int64_t usual_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mdh
