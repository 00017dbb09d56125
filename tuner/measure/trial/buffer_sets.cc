#include "tuner/measure/trial/buffer_sets.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "tuner/measure/results/stopping_rule.h"

namespace mdh {
namespace {

constexpr int64_t kTimesCache = 3;
constexpr int64_t kMostSets = 1500;
constexpr int64_t kShareOfMemory = 8;
constexpr int64_t kLeastCacheBytes = int64_t{16} << 20;  // where the description knows none

// Nanoseconds. Short calls are timed together for so long that clocks do not matter.
constexpr double kBatchTime = 200e3;
// Where the threads of this process are the device, they take turns with the one that gives them
// kernels to do until all are given: calls differ by half until then, and hardly afterwards.
constexpr double kHostBatchTime = 2e6;
constexpr double kMostBatched = 1000;
constexpr double kLongestBatch = 10e6;  // that goes through all sets

}  // namespace

int64_t SetsBeyondCaches(int64_t set_bytes, const DeviceDescription& device) {
  const int64_t own = std::max<int64_t>(1, set_bytes);
  const int64_t cache = std::max({kLeastCacheBytes, device.l2_bytes, device.l3_bytes});
  const int64_t wanted = std::max<int64_t>(2, (kTimesCache * cache + own - 1) / own);
  const int64_t possible = device.blocks.memory_bytes / kShareOfMemory / own;
  return std::max<int64_t>(1, std::min({wanted, possible, kMostSets}));
}

int64_t CallsTimedTogether(double call_ns, int64_t sets, bool on_host) {
  const double batch_ns = on_host ? kHostBatchTime : kBatchTime;
  if (call_ns >= batch_ns) return 1;
  const double wanted = std::min(std::ceil(batch_ns / call_ns), kMostBatched);
  const double kernel_ns = on_host ? call_ns : call_ns - kMostLaunchTime;
  const auto all = static_cast<double>(sets);
  if (all * kernel_ns > kLongestBatch && wanted < all) return std::llround(wanted);
  return std::llround(std::ceil(wanted / all) * all);
}

Result<BufferSets> BufferSets::Create(ComputeDevice& device, absl::Span<const InputBuffer> inputs,
                                      absl::Span<const OutputBuffer> outputs, int64_t count) {
  BufferSets sets;
  for (int64_t n = 1; n < count; ++n) {
    DeviceArguments& own = sets.others_.emplace_back();
    for (const InputBuffer& input : inputs) {
      MDH_ASSIGN_OR_RETURN(auto memory, device.Allocate(input.size_bytes, 0));
      MDH_RETURN_IF_ERROR(memory->Write({input.data, static_cast<size_t>(input.size_bytes)}));
      own.push_back(sets.memory_.emplace_back(std::move(memory)).get());
    }
    for (const OutputBuffer& output : outputs) {
      MDH_ASSIGN_OR_RETURN(auto memory, device.Allocate(output.size_bytes, 0));
      own.push_back(sets.memory_.emplace_back(std::move(memory)).get());
    }
  }
  return sets;
}

}  // namespace mdh
