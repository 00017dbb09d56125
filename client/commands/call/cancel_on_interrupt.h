// Ctrl-C while a job runs: cancels the job instead of ending the program.
#pragma once

#include <functional>
#include <thread>

namespace mdh {

// While it lives, the first SIGINT or SIGTERM calls `on_interrupt` from another thread, once; a
// second one ends the program as usual. At most one at a time.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(std::function<void()> on_interrupt);
  ~CancelOnInterrupt();
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

 private:
  std::thread waiter_;
};

}  // namespace mdh
