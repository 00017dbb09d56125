#include "tuner/measure/results/parallel_ranges.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/base/allowed_cores.h"
#include "core/base/start_thread.h"

namespace mdh {
namespace {

constexpr int64_t kMostThreads = 16;

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
  const auto cores = static_cast<int64_t>(AllowedCores().size());
  const int64_t wanted = std::min({pieces, std::max<int64_t>(1, cores), kMostThreads});
  for (int64_t t = 1; t < wanted; ++t) {
    Result<std::thread> thread = StartThread(run);
    if (!thread.ok()) break;  // those that there are do it
    threads.push_back(*std::move(thread));
  }
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mdh
