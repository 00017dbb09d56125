// What the parts of the cost model share: one design as it adds up. Not for others.
#pragma once

#include <algorithm>
#include <utility>

#include "codegen/choose/block_cost.h"
#include "core/device/warp_accesses.h"

namespace mdh {

inline constexpr int kLine = 128, kSector = 32;  // bytes
inline constexpr double kMostInFlight = 24;      // elements that a thread waits for at once
inline constexpr double kMostFragment = 128;     // elements of an input that unrolled loops read
inline constexpr double kLocalLatency = 30, kOperationLatency = 4;  // cycles
inline constexpr double kOtherRegisters = 26;                       // addresses, counters

// What one design means, and its costs as they add up. Per thread unless said otherwise.
struct BlockCostModel::Shape {
  const BlockDesign* design;
  absl::InlinedVector<int, 16> lanes;  // dimensions with threads, in order
  Points thread, tile;                 // points of a thread between copies; of a block's tile
  Points chunk, block;                 // of a block between copies; of a block in all
  // Neighbouring points of a thread: in its loops that are unrolled; in one point of reductions.
  Points fragment, fragment_of_one;
  double threads = 1, results = 1, tiles = 1, iterations = 1, points = 1, blocks = 1, slots = 1;
  double reducing_threads = 1;
  bool is_mirrored = false;  // blocks compute half of the results and store most of these twice
  double rolled = 1;         // points of a thread's loops that are not unrolled
  bool fits = true;
  double code = 0;          // instructions of its loops over points that are unrolled
  double instructions = 0;  // of a thread
  double local_cycles = 0;  // of a warp
  double registers = kOtherRegisters, prefetched = 0;
  double addresses = 0;              // registers that a compiler uses if it has them
  double async_bytes = 0;            // of a thread's copies that are on their way
  bool has_registers_ahead = false;  // whether copies of the next part wait in registers
  // Times that a block copies a large input in one go, and waits for it, with all others at first.
  double phases = 0;
  double parts_ahead = 0;   // that are on their way while one is computed; 0: none ever are
  double shared_bytes = 0;  // of a block
  double store_bytes = 0, memory_bytes = 0;  // of the device
  double waits = 0, barriers = 0;            // one after the other
  double combining = 0;     // cycles in which threads wait for results of each other
  double direct_waits = 0;  // those of them that are for inputs that are read where they are
  double atomics = 0;       // additions of all blocks to memory
  double exposed = 0;       // cycles in which nothing else is done
  double busiest = 1, at_once = 1;  // blocks of a multiprocessor
  // Bytes of an input, and of those that a thread waits for at once.
  absl::InlinedVector<std::pair<double, double>, 8> traffic;
  BlockCost cost;

  bool combines(CombineBlocks how) const { return slots > 1 && design->combine_blocks == how; }
  bool has_partials() const { return combines(CombineBlocks::kPartials); }
  bool adds_atomically() const { return combines(CombineBlocks::kAtomics); }

  // The threads of the first warp if the next thread along dimension d is step(d) further.
  template <typename Step>
  WarpThreads FirstWarp(const Step& step) const {
    WarpThreads warp(static_cast<int>(std::min<double>(kWarp, threads)));
    for (const int d : lanes) warp.Add(step(d), design->Lanes(d));
    for (const int d : lanes) {  // tiles of lanes
      if (design->lane_tile.empty()) break;
      warp.Add(step(d) * design->Lanes(d), design->cuts[d].threads / design->Lanes(d));
    }
    return warp;
  }
};

}  // namespace mdh
