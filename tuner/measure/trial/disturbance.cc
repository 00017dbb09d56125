#include "tuner/measure/trial/disturbance.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>

#include "core/base/allowed_cores.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Calls from which on queues are looked at, which takes some microseconds for every thread.
constexpr int64_t kLongWatch = 1'000'000;
// How much of such a call threads may have waited, summed over them.
constexpr double kWaitedShare = 0.01;
// Of those that wake up for it, which on a quiet machine takes up to .15 and then lengthens a call
// as much at most; with more than .2, calls are a third longer.
constexpr double kWaitedAwakening = 0.15;
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
// What the times of cores, which go in steps of a hundredth of a second, can tell.
constexpr int64_t kLeastOfOthers = 30'000'000;
// Where one core of two is shared, the thread on the other one waits for that on this one.
constexpr double kIdleShare = 0.25;

std::optional<CoreTimes> TimesOfCoresNow(const std::vector<int>& cores) {
  std::ifstream file("/proc/stat");
  std::string text, line;
  while (std::getline(file, line) && line.rfind("cpu", 0) == 0) text += line + '\n';
  return ParseCoreTimes(text, cores, sysconf(_SC_CLK_TCK));
}

// Of this process on all cores.
int64_t OwnTime() {
  struct timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

// Since `begin_ns`, summed up over the cores.
double TimeOf(const std::vector<int>& cores, int64_t begin_ns) {
  return static_cast<double>(NowNs() - begin_ns) * static_cast<double>(cores.size());
}

}  // namespace

std::optional<CoreTimes> ParseCoreTimes(const std::string& proc_stat, const std::vector<int>& cores,
                                        int64_t ticks_per_second) {
  if (ticks_per_second <= 0 || cores.empty()) return std::nullopt;
  const int64_t tick = 1'000'000'000 / ticks_per_second;
  CoreTimes sum;
  size_t found = 0;
  std::istringstream lines(proc_stat);
  for (std::string line; std::getline(lines, line);) {
    int core = 0;
    long long user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, softirq = 0, stolen = 0;
    if (std::sscanf(line.c_str(), "cpu%d %lld %lld %lld %lld %lld %lld %lld %lld", &core, &user,
                    &nice, &system, &idle, &io, &irq, &softirq, &stolen) != 9 ||
        !std::ranges::binary_search(cores, core)) {
      continue;
    }
    sum.busy_ns += (user + nice + system + irq + softirq) * tick;
    sum.idle_ns += (idle + io) * tick;
    sum.stolen_ns += stolen * tick;
    ++found;
  }
  if (found != cores.size()) return std::nullopt;
  return sum;
}

void StolenTimeWatch::Begin() {
  cores_ = AllowedCores();
  begin_ns_ = NowNs();
  begin_ = TimesOfCoresNow(cores_);
}

bool StolenTimeWatch::WasStolen() const {
  const std::optional<CoreTimes> now = begin_ ? TimesOfCoresNow(cores_) : std::nullopt;
  return now && static_cast<double>(now->stolen_ns - begin_->stolen_ns) >
                    kStolenShare * TimeOf(cores_, begin_ns_);
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
  const bool sleep = threads_ == BetweenCalls::kSleep;
  const std::optional<ThreadTimes> now = begin_ ? TimesOfThreads() : std::nullopt;
  if (!now) return !sleep && InvoluntarySwitches() != switches_;
  return static_cast<double>(now->queued_ns - begin_->queued_ns) >
         (sleep ? kWaitedAwakening : kWaitedShare) * static_cast<double>(duration_ns);
}

void SharedCoresWatch::Begin() {
  cores_ = AllowedCores();
  begin_ns_ = NowNs();
  own_ns_ = OwnTime();
  begin_ = TimesOfThreads();
  of_cores_ = TimesOfCoresNow(cores_);
}

bool SharedCoresWatch::WereShared() const {
  const std::optional<ThreadTimes> now = begin_ ? TimesOfThreads() : std::nullopt;
  if (now && static_cast<double>(now->queued_ns - begin_->queued_ns) >
                 kSharedCores * static_cast<double>(now->running_ns - begin_->running_ns)) {
    return true;
  }
  const std::optional<CoreTimes> of_cores = of_cores_ ? TimesOfCoresNow(cores_) : std::nullopt;
  if (!of_cores) return false;
  const int64_t of_others = of_cores->busy_ns - of_cores_->busy_ns - (OwnTime() - own_ns_);
  const auto idle = static_cast<double>(of_cores->idle_ns - of_cores_->idle_ns);
  return of_others >= kLeastOfOthers &&
         static_cast<double>(of_others) > kSharedCores * static_cast<double>(NowNs() - begin_ns_) &&
         idle < kIdleShare * TimeOf(cores_, begin_ns_);
}

}  // namespace mdh
