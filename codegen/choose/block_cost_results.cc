// What re-composition costs: of a thread's results, of threads that combine theirs, and of blocks.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "codegen/choose/block_cost.h"
#include "codegen/choose/block_cost_shape.h"
#include "codegen/lower/levels/instruction_costs.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

constexpr double kBurst = 64;             // bytes that memory moves at least
constexpr double kClusterBarriers = 8;    // that one of a cluster takes as long as
constexpr double kAtomicBytes = 3;        // of the second level, per byte that is added to
constexpr double kMirroredSectors = 2.5;  // what a store across rows takes as long as, measured
constexpr double kOfFourAtOnce = 0.5;     // of what an addition takes: each of them is quicker

}  // namespace

// Neighbouring results of a thread that one atomic access adds.
int BlockCostModel::AddedAtOnce(const BlockDesign& design) const {
  const std::vector<TypedName>& results = expression_.function().results();
  if (results.size() > 1 || results[0].type != ScalarType::kFloat32) return 1;
  const std::vector<int64_t>& strides = outputs_[0].strides;
  int innermost = -1;  // dimension of the thread's innermost loop over results
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (kept_[d] && design.cuts[d].vector > 1) innermost = static_cast<int>(d);
  }
  if (innermost < 0 || strides[innermost] != 1) return 1;
  const int64_t divisor = std::gcd(design.cuts[innermost].vector, divisors_[innermost]);
  return divisor % 4 == 0 ? 4 : divisor % 2 == 0 ? 2 : 1;
}

// Results of blocks, to memory that no other block writes.
void BlockCostModel::AddStores(Shape& s) const {
  const double stores = s.results * s.tiles;
  const double owners = Owners(s);
  for (const BufferModel& output : outputs_) {
    const double sectors = WarpLines<kSector>(output, s, 1);
    s.local_cycles += stores / owners * std::max(1.0, WarpLines<kLine>(output, s, 1));
    const double again = s.is_mirrored ? kWarp * kMirroredSectors : 0;
    s.store_bytes += s.blocks * std::ceil(s.threads / kWarp) * stores * (sectors + again) * kSector;
  }
  s.instructions += stores / owners * (s.is_mirrored ? 6 : 2);
  if (s.slots == 1 || s.combines(CombineBlocks::kCluster)) return;
  double results = 1;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (kept_[d]) results *= static_cast<double>(sizes_[d]);
  }
  s.store_bytes += 2 * results * s.slots * result_bytes_;
}

// The same by atomics; threads that have combined their results add each of them once.
void BlockCostModel::AddAtomics(Shape& s) const {
  const int lanes = s.is_mirrored ? 1 : AddedAtOnce(*s.design);
  const double additions = s.results * s.tiles / lanes * (s.is_mirrored ? 2 : 1);
  const double warps = std::ceil(s.threads / kWarp / s.reducing_threads);
  for (const BufferModel& output : outputs_) {
    const double sectors = WarpLines<kSector>(output, s, lanes);
    s.local_cycles += additions / Owners(s) * std::max(1.0, sectors / 4);
    s.store_bytes += kAtomicBytes * s.blocks * warps * additions * sectors * kSector;
    s.store_bytes += output.total * output.bytes;
  }
  s.instructions += additions / Owners(s) * 2;
  s.atomics = s.blocks * warps * kWarp * additions * (lanes == 4 ? kOfFourAtOnce : 1);
}

// As BlockDesign's levels: neighbouring threads of a warp that share a reduction.
bool BlockCostModel::CombinesByShuffles(const Shape& s) const {
  const int lane = s.design->lane_dimension;
  const int64_t threads = s.design->cuts[lane].threads;
  return has_shuffles_ && !kept_[lane] && static_cast<double>(threads) == s.reducing_threads &&
         threads <= kWarp && (threads & (threads - 1)) == 0 &&
         static_cast<int64_t>(s.threads) % kWarp == 0;
}

// Threads among which those that combine their results share them out, unless one of them has all.
double BlockCostModel::Owners(const Shape& s) const {
  return CombinesByShuffles(s) ? 1 : std::min(s.reducing_threads, s.results);
}

// Blocks that combine their results themselves: every result is left once, and read by one thread
// of one of them.
void BlockCostModel::AddCooperation(Shape& s) const {
  const double own = s.results / Owners(s);
  s.instructions += own * 4;
  if (s.combines(CombineBlocks::kCluster)) {
    s.local_cycles += own * 3;
    s.barriers += 2 * kClusterBarriers;
    s.shared_bytes += own * s.threads * result_bytes_;
  } else {
    s.waits += 2;  // for the counter, and for what the others have left
    s.instructions += own * s.slots * 3;
  }
}

void BlockCostModel::AddResults(Shape& s) const {
  s.registers += s.results * result_words_;
  if (s.combines(CombineBlocks::kCluster) || s.combines(CombineBlocks::kLastBlock)) {
    AddCooperation(s);
  }
  s.adds_atomically() ? AddAtomics(s) : AddStores(s);
  for (const BufferModel& output : outputs_) {
    const double run = Run(output, s.tile) * output.bytes;
    s.memory_bytes += output.total * output.bytes * std::max(1.0, kBurst / run);
  }
  if (s.reducing_threads == 1) return;
  CombinesByShuffles(s) ? AddShuffles(s) : AddExchange(s);
}

void BlockCostModel::AddShuffles(Shape& s) const {
  const double steps = std::ceil(std::log2(s.reducing_threads));
  const double values = s.results * s.tiles;
  s.instructions += values * (2 + steps * (1 + result_words_ + combine_));
  s.local_cycles += values * (2 + 2 * steps * result_words_);
  s.combining += s.tiles * steps * (kLocalLatency + combine_ * kOperationLatency);
}

// Through shared memory: as CombineShared and CombineSharedOut of the lowering's results.
void BlockCostModel::AddExchange(Shape& s) const {
  const auto threads = static_cast<int64_t>(s.reducing_threads);
  const auto results = static_cast<int64_t>(s.results);
  const double batches = std::max(1.0, s.results * s.threads * result_bytes_ / kExchangeBytes);
  s.shared_bytes += std::max(static_cast<double>(kExchangeBytes), s.threads * result_bytes_);
  const int64_t owners = OwnersOf(results, threads);
  const int64_t own = results / owners;
  if (TreeIsShorter(threads, results, own, combine_)) {
    const double steps = std::ceil(std::log2(s.reducing_threads));
    const double values = s.results * s.tiles;
    s.instructions += values * (2 + steps * (3 + combine_));
    s.local_cycles += values * (2 + 3 * steps);
    s.barriers += s.tiles * batches * (1 + steps);
    s.combining += s.tiles * batches * steps * (2 * kLocalLatency + combine_ * kOperationLatency);
    return;
  }
  // Every result is stored once, and read by its owner: some of the warps have none.
  const double reads = static_cast<double>(own) * s.reducing_threads;
  const double warps = std::max(1.0, std::ceil(s.threads / kWarp));
  const double busy = std::min(
      1.0, std::ceil(s.threads / s.reducing_threads * static_cast<double>(owners) / kWarp) / warps);
  s.instructions += s.tiles * (2 * s.results + busy * reads * (1 + combine_));
  s.local_cycles += s.tiles * (s.results + busy * reads);
  s.barriers += s.tiles * 2 * batches;
  s.combining += s.tiles * reads * combine_ * kOperationLatency;
}

}  // namespace mdh
