#include "server/lookup/lookup_workers.h"

#include <utility>

#include "core/base/start_thread.h"

namespace mdh {

LookupWorkers::LookupWorkers(int threads, size_t max_waiting) : max_waiting_(max_waiting) {
  for (int n = 0; n < threads; ++n) {
    Result<std::thread> thread = StartThread([this] { Work(); });
    if (!thread.ok()) break;  // without any, what needs a thread is refused
    threads_.push_back(*std::move(thread));
  }
}

LookupWorkers::~LookupWorkers() { Stop(); }

void LookupWorkers::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_ending_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool LookupWorkers::Submit(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (is_ending_ || threads_.empty() || waiting_.size() >= max_waiting_) return false;
  waiting_.push_back(std::move(work));
  return true;
}

void LookupWorkers::Work() {
  while (true) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return is_ending_ || !waiting_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace mdh
