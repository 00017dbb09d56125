#include "tuner/measure/disturbance.h"

#include <dirent.h>
#include <sys/resource.h>

#include <cstdio>
#include <memory>
#include <string>

namespace mdh {
namespace {

constexpr int64_t kUnknown = -1;
// Calls from which on queues are looked at, which takes some microseconds for every thread.
constexpr int64_t kLongWatch = 1'000'000;
// How much of such a call a thread may have waited, summed over the threads.
constexpr double kWaitedShare = 0.01;

// "cpu_time run_delay timeslices" of one thread.
int64_t RunDelay(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  long long running = 0, waiting = 0;
  if (file == nullptr || std::fscanf(file.get(), "%lld %lld", &running, &waiting) != 2) {
    return kUnknown;
  }
  return waiting;
}

}  // namespace

int64_t InvoluntarySwitches() {
  struct rusage usage = {};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

int64_t NanosecondsInQueues() {
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), &closedir);
  if (tasks == nullptr) return kUnknown;
  int64_t sum = kUnknown;
  while (const dirent* const task = readdir(tasks.get())) {
    if (task->d_name[0] == '.') continue;
    const int64_t delay = RunDelay(std::string("/proc/self/task/") + task->d_name + "/schedstat");
    if (delay != kUnknown) sum = (sum == kUnknown ? 0 : sum) + delay;
  }
  return sum;
}

void DisturbanceWatch::Begin(int64_t expected_ns) {
  waited_ns_ = expected_ns >= kLongWatch ? NanosecondsInQueues() : kUnknown;
  switches_ = InvoluntarySwitches();
}

bool DisturbanceWatch::WasDisturbed(int64_t duration_ns) const {
  const bool was_switched = InvoluntarySwitches() != switches_;
  if (waited_ns_ == kUnknown) return was_switched;
  const int64_t waited_ns = NanosecondsInQueues();
  if (waited_ns == kUnknown) return was_switched;
  return static_cast<double>(waited_ns - waited_ns_) >
         kWaitedShare * static_cast<double>(duration_ns);
}

}  // namespace mdh
