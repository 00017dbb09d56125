#include "tuner/measure/disturbance.h"

#include <dirent.h>
#include <sys/resource.h>

#include <cstdio>
#include <memory>
#include <string>

namespace mdh {
namespace {

// Calls from which on queues are looked at, which takes some microseconds for every thread.
constexpr int64_t kLongWatch = 1'000'000;
// How much of such a call a thread may have waited, summed over the threads.
constexpr double kWaitedShare = 0.01;
// How much of the time that they run threads that sleep now and then may have waited. On a quiet
// machine it is up to .13, beside one busy loop on each core from .5 to 2.5.
constexpr double kSharedCores = 0.25;

// "cpu_time run_delay timeslices" of one thread.
std::optional<ThreadTimes> TimesOfThread(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  long long running = 0, queued = 0;
  if (file == nullptr || std::fscanf(file.get(), "%lld %lld", &running, &queued) != 2) {
    return std::nullopt;
  }
  return ThreadTimes{running, queued};
}

}  // namespace

int64_t InvoluntarySwitches() {
  struct rusage usage = {};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

std::optional<ThreadTimes> TimesOfThreads() {
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), &closedir);
  if (tasks == nullptr) return std::nullopt;
  std::optional<ThreadTimes> sum;
  while (const dirent* const task = readdir(tasks.get())) {
    if (task->d_name[0] == '.') continue;
    const std::optional<ThreadTimes> times =
        TimesOfThread(std::string("/proc/self/task/") + task->d_name + "/schedstat");
    if (!times) continue;
    if (!sum) sum.emplace();
    sum->running_ns += times->running_ns;
    sum->queued_ns += times->queued_ns;
  }
  return sum;
}

void DisturbanceWatch::Begin(int64_t expected_ns) {
  begin_ = expected_ns >= kLongWatch ? TimesOfThreads() : std::nullopt;
  switches_ = InvoluntarySwitches();
}

bool DisturbanceWatch::WasDisturbed(int64_t duration_ns) const {
  const bool was_switched = InvoluntarySwitches() != switches_;
  if (!begin_) return was_switched;
  const std::optional<ThreadTimes> now = TimesOfThreads();
  if (!now) return was_switched;
  return static_cast<double>(now->queued_ns - begin_->queued_ns) >
         kWaitedShare * static_cast<double>(duration_ns);
}

void SharedCoresWatch::Begin() { begin_ = TimesOfThreads(); }

bool SharedCoresWatch::WereShared() const {
  const std::optional<ThreadTimes> now = begin_ ? TimesOfThreads() : std::nullopt;
  if (!now) return false;
  return static_cast<double>(now->queued_ns - begin_->queued_ns) >
         kSharedCores * static_cast<double>(now->running_ns - begin_->running_ns);
}

}  // namespace mdh
