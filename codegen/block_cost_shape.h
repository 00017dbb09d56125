// What the parts of the cost model share: one design as it adds up. Not for others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/block_cost.h"

namespace mdh {

inline constexpr int kWarp = 32;
inline constexpr int kLine = 128, kSector = 32;  // bytes
inline constexpr double kMostInFlight = 24;      // elements that a thread waits for at once
inline constexpr double kMostFragment = 128;     // elements of an input that unrolled loops read
inline constexpr double kOtherRegisters = 26;    // addresses, counters

// What one design means, and its costs as they add up. Per thread unless said otherwise.
struct BlockCostModel::Shape {
  const BlockDesign* design;
  std::vector<int> lanes;             // dimensions with threads, in order
  std::vector<int64_t> thread, tile;  // points of a thread between copies; of a block's tile
  std::vector<int64_t> chunk, block;  // of a block between copies; of a block in all
  double threads = 1, results = 1, tiles = 1, iterations = 1, points = 1, blocks = 1, slots = 1;
  double reducing_threads = 1;
  std::vector<bool> unrolled;  // per dimension, if it is reduced
  bool fits = true;
  double instructions = 0;  // of a thread
  double local_cycles = 0;  // of a warp
  double registers = kOtherRegisters, prefetched = 0;
  double shared_bytes = 0;                   // of a block
  double store_bytes = 0, memory_bytes = 0;  // of the device
  double waits = 0, barriers = 0;            // one after the other
  double busiest = 1, at_once = 1;           // blocks of a multiprocessor
  // Bytes of an input, and of those that a thread waits for at once.
  std::vector<std::pair<double, double>> traffic;
  BlockCost cost;

  // Calls visit(thread numbers per dimension) for the threads of the first warp.
  template <typename Visit>
  void ForLanes(const Visit& visit) const {
    std::array<int64_t, Expression::kMaxDimensions> thread_of = {};
    const int count = static_cast<int>(std::min<double>(kWarp, threads));
    for (int lane = 0; lane < count; ++lane) {
      visit(thread_of);
      for (const int d : lanes) {
        if (++thread_of[d] < design->cuts[d].threads) break;
        thread_of[d] = 0;
      }
    }
  }
};

}  // namespace mdh
