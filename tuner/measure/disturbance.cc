#include "tuner/measure/disturbance.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "tuner/measure/clock.h"

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

constexpr double kStolenShare = 0.05;

std::optional<int64_t> StolenTimeNow() {
  std::ifstream file("/proc/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return StolenTime(line, sysconf(_SC_CLK_TCK));
}

}  // namespace

std::optional<int64_t> StolenTime(const std::string& proc_stat, int64_t ticks_per_second) {
  long long stolen = 0;  // after user, nice, system, idle, iowait, irq and softirq
  if (ticks_per_second <= 0 ||
      std::sscanf(proc_stat.c_str(), "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &stolen) != 1) {
    return std::nullopt;
  }
  return stolen * (1'000'000'000 / ticks_per_second);
}

void StolenTimeWatch::Begin() {
  begin_ns_ = NowNs();
  stolen_ns_ = StolenTimeNow();
}

bool StolenTimeWatch::WasStolen() const {
  const std::optional<int64_t> now = stolen_ns_ ? StolenTimeNow() : std::nullopt;
  if (!now) return false;
  const auto all_ns =
      static_cast<double>(NowNs() - begin_ns_) * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  return static_cast<double>(*now - *stolen_ns_) > kStolenShare * all_ns;
}

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
