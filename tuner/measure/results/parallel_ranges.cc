#include "tuner/measure/results/parallel_ranges.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/base/start_thread.h"

namespace mdh {
namespace {

constexpr int64_t kMostThreads = 16;

int64_t CountAllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

void ForRanges(int64_t count, const std::function<void(int64_t, int64_t, int64_t)>& work,
               int64_t elements) {
  const int64_t pieces = CountRanges(count, elements);
  std::atomic<int64_t> next{0};
  const auto run = [&] {
    for (int64_t piece = next++; piece < pieces; piece = next++) {
      const int64_t begin = piece * elements;
      work(piece, begin, std::min(count, begin + elements));
    }
  };
  std::vector<std::thread> threads;
  const int64_t wanted = std::min({pieces, CountAllowedCores(), kMostThreads});
  for (int64_t t = 1; t < wanted; ++t) {
    Result<std::thread> thread = StartThread(run);
    if (!thread.ok()) break;  // those that there are do it
    threads.push_back(*std::move(thread));
  }
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mdh
