// Other work on this machine while something is measured.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace mdh {

// When others use the machine while a search runs.
enum class BusyTimes { kNever, kAlways, kBursts, kAtFirst, kAtLast };
std::string_view Name(BusyTimes times);

// Processes that do nothing but take time of cores; they end with this. Of a search of `budget_ns`
// the first or last third is busy, bursts take .3 s of every second.
class BusyLoops {
 public:
  BusyLoops(BusyTimes times, int processes, int64_t budget_ns);
  ~BusyLoops();
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  std::vector<pid_t> processes_;
};

}  // namespace mdh
