#include "tests/tuner/busy_loops.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/process/clock.h"

namespace mdh {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBurst = 300'000'000;
constexpr useconds_t kNap = 10'000;

bool IsBusy(BusyTimes times, int64_t since_ns, int64_t budget_ns) {
  switch (times) {
    case BusyTimes::kNever:
      return false;
    case BusyTimes::kAlways:
      return true;
    case BusyTimes::kBursts:
      return since_ns % kSecond < kBurst;
    case BusyTimes::kAtFirst:
      return since_ns < budget_ns / 3;
    case BusyTimes::kAtLast:
      return since_ns > budget_ns * 2 / 3;
  }
  return false;
}

[[noreturn]] void Loop(BusyTimes times, int64_t budget_ns) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int64_t start_ns = NowNs();
  while (true) {
    if (!IsBusy(times, NowNs() - start_ns, budget_ns)) usleep(kNap);
  }
}

}  // namespace

std::string_view Name(BusyTimes times) {
  switch (times) {
    case BusyTimes::kNever:
      return "never";
    case BusyTimes::kAlways:
      return "always";
    case BusyTimes::kBursts:
      return "in bursts";
    case BusyTimes::kAtFirst:
      return "at first";
    case BusyTimes::kAtLast:
      return "at last";
  }
  return "unknown";
}

BusyLoops::BusyLoops(BusyTimes times, int processes, int64_t budget_ns) {
  for (int p = 0; p < processes; ++p) {
    const pid_t pid = fork();
    if (pid == 0) Loop(times, budget_ns);
    if (pid > 0) processes_.push_back(pid);
  }
}

BusyLoops::~BusyLoops() {
  for (const pid_t pid : processes_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

}  // namespace mdh
