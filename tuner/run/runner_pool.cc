#include "tuner/run/runner_pool.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "core/base/start_thread.h"
#include "tuner/measure/trial/verdict.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Between two looks, of a member that has nothing to do, at what the others have.
constexpr absl::Duration kLookAtOthers = absl::Milliseconds(50);
// A kernel is taken over after so many times what kernels take, and not before the other.
constexpr int64_t kTimesUsual = 4, kLeastPatienceNs = 250'000'000;
// The rest of one that said nothing doubles so often.
constexpr int kMostSilences = 5;
// The usual time follows the last few kernels.
constexpr int64_t kKernelsOfUsual = 8;

}  // namespace

RunnerPool::RunnerPool(absl::Span<Runner* const> runners, int kernels_each)
    : kernels_each_(static_cast<size_t>(std::max(kernels_each, 1))) {
  for (Runner* runner : runners) {
    members_.push_back(std::make_unique<Member>(Member{.runner = runner}));
  }
  for (const auto& member : members_) {
    StartMember(*member, [this, &member = *member] { Work(member); });
  }
}

void RunnerPool::StartMember(Member& member, std::function<void()> work) {
  Result<std::thread> thread = StartThread(std::move(work));
  if (!thread.ok()) return Fail(member, thread.status());
  member.thread = *std::move(thread);
}

RunnerPool::~RunnerPool() {
  std::vector<Runner*> busy;
  {
    absl::MutexLock lock(&mutex_);
    is_ending_ = true;
    queue_.clear();
    for (const auto& member : members_) {
      if (member->is_joining || !member->submitted.empty()) busy.push_back(member->runner);
    }
  }
  for (Runner* runner : busy) runner->Interrupt();
  for (const auto& member : members_) {
    if (member->thread.joinable()) member->thread.join();
  }
  // Others use the runners from now on.
  for (const auto& member : members_) {
    member->runner->SetDeadline(0);
    member->runner->SetStepListener(nullptr);
  }
}

Status RunnerPool::SetProblem(const Expression& expression, uint64_t seed,
                              const Numerics& numerics) {
  problem_ = std::make_shared<const Problem>(Problem{expression, seed, numerics});
  std::vector<Status> statuses(members_.size());
  std::vector<std::thread> threads;
  for (size_t n = 0; n < members_.size(); ++n) {
    if (members_[n]->is_left_out) {
      statuses[n] = last_error();
      continue;
    }
    const auto set = [&, n] {
      statuses[n] = members_[n]->runner->SetProblem(expression, seed, numerics);
    };
    Result<std::thread> thread = StartThread(set);
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
    } else {
      set();  // one after the other, then
    }
  }
  for (std::thread& thread : threads) thread.join();
  const bool is_any_left = std::ranges::any_of(statuses, &Status::ok);
  // What every runner says is about the problem, not about the runners.
  if (!is_any_left) return statuses.front();
  for (size_t n = 0; n < members_.size(); ++n) {
    if (!statuses[n].ok()) Fail(*members_[n], statuses[n]);
  }
  return absl::OkStatus();
}

void RunnerPool::SetDeadline(int64_t deadline_ns) {
  absl::MutexLock lock(&mutex_);
  deadline_ns_ = deadline_ns;
  for (const auto& member : members_) member->runner->SetDeadline(deadline_ns);
}

void RunnerPool::Add(Runner* runner) {
  Member* member;
  {
    absl::MutexLock lock(&mutex_);
    runner->SetDeadline(deadline_ns_);
    members_.push_back(std::make_unique<Member>(Member{.runner = runner, .is_joining = true}));
    member = members_.back().get();
  }
  StartMember(*member, [this, member, problem = problem_] { Join(*member, *problem); });
}

void RunnerPool::Submit(int64_t number, Kernel kernel, const MeasureOptions& options) {
  absl::MutexLock lock(&mutex_);
  queue_.push_back({number, std::move(kernel), options});
  ++unfinished_;
}

Result<Runner::Finished> RunnerPool::Next() {
  absl::MutexLock lock(&mutex_);
  if (unfinished_ == 0) return FailedPrecondition("no kernel was submitted");
  const auto can_tell = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !finished_.empty() ||
           std::ranges::all_of(members_, [](const auto& member) { return member->is_left_out; });
  };
  mutex_.Await(absl::Condition(&can_tell));
  if (finished_.empty()) {
    queue_.clear();
    unfinished_ = 0;
    return last_error_;
  }
  Runner::Finished first = std::move(finished_.front());
  finished_.pop_front();
  --unfinished_;
  return first;
}

void RunnerPool::Abandon() {
  std::vector<Runner*> busy;
  {
    absl::MutexLock lock(&mutex_);
    for (; !queue_.empty(); queue_.pop_front()) {
      finished_.push_back({queue_.front().number, CancelledMeasurement()});
    }
    for (const auto& member : members_) {
      if (!member->submitted.empty()) busy.push_back(member->runner);
    }
  }
  for (Runner* runner : busy) runner->Interrupt();
}

Runner* RunnerPool::idle() {
  absl::MutexLock lock(&mutex_);
  const auto find = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> Runner* {
    for (const auto& member : members_) {
      if (!member->is_left_out && !member->is_joining) return member->runner;
    }
    return nullptr;
  };
  const auto can_tell = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return find() != nullptr ||
           std::ranges::all_of(members_, [](const auto& member) { return member->is_left_out; });
  };
  mutex_.Await(absl::Condition(&can_tell));
  return find();
}

void RunnerPool::LeaveOut(Runner* runner, const Status& why) {
  for (const auto& member : members_) {
    if (member->runner == runner) Fail(*member, why);
  }
}

int RunnerPool::count() const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int>(
      std::ranges::count_if(members_, [](const auto& member) { return !member->is_left_out; }));
}

Status RunnerPool::last_error() const {
  absl::ReaderMutexLock lock(&mutex_);
  return last_error_;
}

void RunnerPool::Join(Member& member, const Problem& problem) {
  const Status status =
      member.runner->SetProblem(problem.expression, problem.seed, problem.numerics);
  if (!status.ok()) return Fail(member, status);
  {
    absl::MutexLock lock(&mutex_);
    member.is_joining = false;
  }
  Work(member);
}

void RunnerPool::Work(Member& member) {
  while (true) {
    std::vector<Job> jobs;
    {
      absl::MutexLock lock(&mutex_);
      AwaitWork(member);
      jobs = Take(member);
      if (member.is_left_out || member.submitted.empty()) return;
    }
    if (const Status status = SubmitTo(member, std::move(jobs)); !status.ok()) {
      return Fail(member, status);
    }
    Result<Runner::Finished> finished = member.runner->Next();
    if (!finished.ok()) return Fail(member, finished.status());
    Finish(member, *std::move(finished));
  }
}

void RunnerPool::AwaitWork(Member& member) {
  const auto has_work = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_ending_ || member.is_left_out || !member.submitted.empty() ||
           (!queue_.empty() && NowNs() >= member.rests_until_ns);
  };
  const auto may_have = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return has_work() || !queue_.empty() ||
           std::any_of(members_.begin(), members_.end(),
                       [](const auto& other) { return !other->submitted.empty(); });
  };
  while (!has_work()) {
    mutex_.Await(absl::Condition(&may_have));
    if (!mutex_.AwaitWithTimeout(absl::Condition(&has_work), kLookAtOthers)) TakeOver(member);
  }
}

void RunnerPool::TakeOver(const Member& member) {
  if (usual_ns_ == 0) return;
  const int64_t now_ns = NowNs();
  const int64_t patience_ns = std::max(kLeastPatienceNs, kTimesUsual * usual_ns_);
  if (now_ns < member.rests_until_ns) return;
  for (const auto& other : members_) {
    if (other.get() == &member || other->submitted.empty()) continue;
    Job& oldest = other->submitted.front();
    if (oldest.taken_ns > now_ns - patience_ns) continue;
    if (!other->runner->TakeBack(oldest.number)) continue;
    queue_.push_back(std::move(oldest));
    other->submitted.pop_front();
    other->rests_until_ns = now_ns + (patience_ns << other->silences);
    if (other->submitted.empty()) other->silences = std::min(other->silences + 1, kMostSilences);
    return;
  }
}

std::vector<RunnerPool::Job> RunnerPool::Take(Member& member) {
  std::vector<Job> jobs;
  if (member.is_left_out || NowNs() < member.rests_until_ns) return jobs;
  const size_t room = member.silences > 0 ? 1 : kernels_each_;
  while (!queue_.empty() && member.submitted.size() < room) {
    queue_.front().taken_ns = NowNs();
    jobs.push_back(queue_.front());
    member.submitted.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return jobs;
}

Status RunnerPool::SubmitTo(Member& member, std::vector<Job> jobs) {
  for (const Job& job : jobs) {
    MDH_RETURN_IF_ERROR(member.runner->Submit(job.number, job.kernel, job.options));
  }
  return absl::OkStatus();
}

void RunnerPool::Finish(Member& member, Runner::Finished finished) {
  absl::MutexLock lock(&mutex_);
  const auto job = std::find_if(member.submitted.begin(), member.submitted.end(),
                                [&](const Job& one) { return one.number == finished.number; });
  // It was taken over: each counts once.
  if (job == member.submitted.end()) return;
  const int64_t took_ns = NowNs() - job->taken_ns;
  usual_ns_ = usual_ns_ == 0 ? took_ns : usual_ns_ + (took_ns - usual_ns_) / kKernelsOfUsual;
  member.silences = 0;
  member.rests_until_ns = 0;
  member.submitted.erase(job);
  finished_.push_back(std::move(finished));
}

void RunnerPool::Fail(Member& member, const Status& why) {
  absl::MutexLock lock(&mutex_);
  member.is_left_out = true;
  member.is_joining = false;
  last_error_ = why;
  for (; !member.submitted.empty(); member.submitted.pop_back()) {
    queue_.push_front(std::move(member.submitted.back()));
  }
}

}  // namespace mdh
