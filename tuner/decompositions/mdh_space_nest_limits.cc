// The limits of devices on configurations that are lowered level by level. Every limit of
// core/decomposition/validate_nest.cc has its constraint here, never a weaker one.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/expression/touched_elements.h"
#include "tuner/decompositions/mdh_space_nest.h"

namespace mdh {
namespace {

constexpr double kMaxBlockSlots = 65536;  // of partial results in device memory
constexpr double kMaxUnrolledReductions = 16;
constexpr double kMaxResults = 128;  // of a thread, beside unrolled reductions
constexpr int kMaxThreadDimensions = 8;
constexpr int kMaxWideThreadDimensions = 4;  // of many dimensions, the longest
constexpr int kMaxWideWarpDimensions = 2;
constexpr double kMaxStackResults = 4096;

}  // namespace

void NestDecompositions::AddLimits() {
  if (!Reassociates(p_.numerics)) LimitOrderedLoops();
  LimitReductions();
  if (!is_explicit()) {
    const int steps = is_wide() ? 1 : 2;
    ProductLimit parts("parts of cores", p_.MostPartsOfCores(), steps);
    ProductLimit all_parts("", 0, steps);
    for (const int d : turn_) {
      if (p_.is_ordered(d)) continue;
      all_parts.Multiply(Parts(0, d), p_.size(d));
      if (!p_.is_reduced(d)) parts.Multiply(Parts(0, d), p_.size(d));
    }
    parts.Require(builder_);
    AddThreads(all_parts.total(), steps);
    return;
  }
  LimitBlocks();
  LimitThreads();
  LimitRegisters();
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    if (has(inputs_[b].copy)) LimitCopies(b);
  }
  for (int v = 0; v < std::ssize(views_.inputs()); ++v) {
    if (has(inputs_[OwnerOf(views_, v)].copy)) LimitPrivateCopies(v);
  }
}

// ---- Partial results and order ----

double NestDecompositions::MaxSlots() const {
  double bytes = static_cast<double>(kMaxSharedScratchBytes);
  if (is_explicit()) {
    bytes = std::min(bytes, static_cast<double>(p_.device.blocks.memory_bytes) -
                                static_cast<double>(BufferBytesOf(e_)));
  }
  const double most =
      is_explicit() ? kMaxBlockSlots : static_cast<double>(kSlotsPerCore * p_.device.cores);
  return std::clamp(std::floor(bytes / ResultArrayBytes(e_)), 1.0, most);
}

// Threads that combine in faster memory have no slots, but are counted, too: how they combine is
// decided when their numbers are no longer known.
void NestDecompositions::LimitReductions() {
  ProductLimit slots("slots of partial results", MaxSlots(), 1);
  for (const int d : turn_) {
    if (!p_.is_reduced(d) || p_.is_ordered(d)) continue;
    slots.Multiply(Parts(0, d), p_.size(d));
    for (const int l : {warps_, threads_}) {
      if (l >= 0) slots.Multiply(Parts(l, d), MostParts(l, d));
    }
  }
  slots.Require(builder_);
}

// Loops of a reduced dimension are around those of the reduced dimensions after it.
void NestDecompositions::LimitOrderedLoops() {
  if (!is_explicit()) return KeepOrderedLoopsInside();
  Formula innermost = 0;  // layer of the loops so far
  bool has_loops = false;
  for (const int d : turn_) {
    if (!p_.is_ordered(d) || !p_.is_reduced(d)) continue;
    if (p_.size(d) > 1) {
      const Formula results = builder_.At(results_);
      const Formula has_outer = Parts(outer_, d) > 1;
      const Formula has_inner = Parts(inner_, d) > 1 || Parts(registers_, d) > 1;
      builder_.Require(absl::StrCat("results stay where values of ", p_.name(d), " are combined"),
                       (!has_outer || results == kRegistersAround || results == kSharedAround) &&
                           (!has_inner || results != kInDevice));
    }
    Formula outermost = layers_, own = 0;
    for (int l = layers_ - 1; l > 0; --l) {
      if (is_core(l)) continue;
      outermost = If(Parts(l, d) > 1, l, outermost);
      own = Max({own, If(Parts(l, d) > 1, l, 0)});
    }
    if (has_loops) {
      builder_.Require(absl::StrCat("loops of ", p_.name(d), " are inside of earlier reductions"),
                       innermost <= outermost);
    }
    innermost = Max({innermost, own});
    has_loops = true;
  }
}

// CPUs accumulate as far outside as their stack allows: reductions run in the innermost loops,
// around few results.
void NestDecompositions::KeepOrderedLoopsInside() {
  ProductLimit results("results of the innermost loops", kMaxStackResults, 1);
  for (const int d : turn_) {
    if (!p_.is_reduced(d)) {
      results.Multiply(Parts(layers_ - 1, d), MostParts(layers_ - 1, d));
      continue;
    }
    for (int l = 1; l + 1 < layers_; ++l) {
      builder_.Require(absl::StrCat("loops of ", p_.name(d), " are innermost"), Parts(l, d) == 1);
    }
  }
  results.Require(builder_);
}

// ---- Blocks and threads ----

// Most blocks per dimension: so few that, in any case, the dimension with most of them can run
// along the grid's x, that with most of the others along y, and all others folded into z.
std::vector<int64_t> NestDecompositions::GridCaps() const {
  std::vector<int64_t> caps(p_.rank());
  for (int d = 0; d < p_.rank(); ++d) {
    caps[d] =
        p_.is_reduced(d) ? std::min(p_.size(d), static_cast<int64_t>(MaxSlots())) : p_.size(d);
    if (!MayBeCut(d)) caps[d] = 1;
    if (p_.is_ordered(d)) {
      const int64_t part = OrderedPart(e_, p_.numerics, d);
      caps[d] = (p_.size(d) + part - 1) / part;
    }
  }
  const std::array<int64_t, 3>& limits = p_.device.blocks.max_grid;
  const auto longest = std::ranges::max_element(caps);
  for (auto cap = caps.begin(); cap != caps.end(); ++cap) {
    *cap = std::min(*cap, limits[cap == longest ? 0 : 1]);
  }
  if (p_.rank() <= 2) return caps;
  std::vector<int> folded = Identity(p_.rank());
  std::ranges::stable_sort(folded, [&](int a, int b) { return caps[a] > caps[b]; });
  folded.erase(folded.begin(), folded.begin() + 2);
  const auto product = [&] {
    double blocks = 1;
    for (const int d : folded) blocks *= static_cast<double>(caps[d]);
    return blocks;
  };
  const auto cap_of = [&](int d) { return p_.is_ordered(d) ? 1 : caps[d]; };
  while (product() > static_cast<double>(limits[2])) {
    const int most =
        *std::ranges::max_element(folded, [&](int a, int b) { return cap_of(a) < cap_of(b); });
    if (cap_of(most) == 1) break;
    caps[most] = (caps[most] + 1) / 2;
  }
  return caps;
}

void NestDecompositions::LimitBlocks() {
  const std::vector<int64_t> caps = GridCaps();
  for (int d = 0; d < p_.rank(); ++d) {
    if (caps[d] >= p_.size(d) || p_.is_ordered(d) || !MayBeCut(d)) continue;
    builder_.Require(absl::StrCat("blocks of ", p_.name(d)), Parts(0, d) <= caps[d]);
  }
}

void NestDecompositions::LimitThreads() {
  const BlockLimits& limits = p_.device.blocks;
  ProductLimit threads("threads of a block", limits.max_threads_per_block, 1);
  ProductLimit lanes("threads of a warp", limits.warp_size, 1);
  Formula are_not_powers = 0;
  const int64_t axis = std::min(limits.max_block[0], limits.max_block[1]);
  int eligible = 0;  // with more, those that are folded into z could be too many
  for (const int d : turn_) {
    if (!MayRunInParallel(d) || p_.size(d) == 1) continue;
    ++eligible;
    bool has_threads = false;
    for (const int l : {warps_, threads_}) {
      if (l < 0) continue;
      const int most = !is_wide()    ? kMaxThreadDimensions
                       : l == warps_ ? kMaxWideWarpDimensions
                                     : kMaxWideThreadDimensions;
      has_threads = has_threads || eligible <= most;
      if (eligible <= most) continue;
      builder_.Require(absl::StrCat("threads along ", p_.name(d)), Parts(l, d) == 1);
    }
    if (!has_threads) continue;
    for (const int l : {warps_, threads_}) {
      if (l < 0) continue;
      const Formula& parts = Parts(l, d);
      threads.Multiply(parts, MostParts(l, d));
      if (has_warps() && l == threads_) lanes.Multiply(parts, MostParts(l, d));
      are_not_powers = Max({are_not_powers, If(Divides(parts, int64_t{1} << 30), 0, 1)});
      if (MostParts(l, d) > axis && axis < limits.max_threads_per_block) {
        builder_.Require(absl::StrCat("threads of a block along ", p_.name(d)), parts <= axis);
      }
    }
  }
  threads.Require(builder_);
  if (has_warps()) lanes.Require(builder_);
  if (builder_.Largest(combine_) < kShuffle) return;
  const Formula how = builder_.At(combine_);
  builder_.Require(
      "threads that shuffle are whole warps",
      how != kShuffle || (are_not_powers == 0 && threads.total() >= FloorLog(limits.warp_size, 1)));
  if (has_warps()) return;
  for (const int d : turn_) {
    if (!p_.is_reduced(d) || !MayRunInParallel(d) || p_.size(d) <= limits.warp_size) continue;
    builder_.Require(absl::StrCat("threads along ", p_.name(d), " shuffle within a warp"),
                     how != kShuffle || Parts(threads_, d) <= limits.warp_size);
  }
}

// ---- Registers ----

// Results of a thread, in registers or shared memory, together with its threads.
void NestDecompositions::LimitRegisters() {
  const BlockLimits& limits = p_.device.blocks;
  const int64_t per_thread = MostPrivateWords(limits);
  const auto words = static_cast<double>(ResultWords());
  const double most =
      std::min(static_cast<double>(per_thread) / words, UnrolledPoints() / UnrolledReductions());
  ProductLimit results("results of a thread", most, 1), threads("", 1, 1);
  for (const int d : turn_) {
    if (p_.size(d) == 1) continue;
    for (const int l : {warps_, threads_}) {
      if (l >= 0 && MayRunInParallel(d)) threads.Multiply(Parts(l, d), MostParts(l, d));
    }
    if (p_.is_reduced(d)) continue;
    for (const int l : {registers_, inner_, outer_}) {
      if (l == outer_ && !IsKept(d)) continue;
      const Formula& parts = Parts(l, d);
      results.Multiply(l == outer_ ? If(IsInnermost(), parts, 1) : parts, MostParts(l, d));
    }
  }
  results.Require(builder_);
  results_of_thread_ = results;
  LimitUnrolling();
  const Formula is_shared = builder_.At(results_) >= kSharedInside;
  const auto in_block = [&](double limit, const Formula& bits) {
    return results.total() <= FloorLog(limit, 1) - threads.total() - bits;
  };
  builder_.Require(
      "bytes of results in shared memory",
      !is_shared || in_block(SharedBytesForCopies() / ResultBytes(), SharedResidencyBits()));
  if (builder_.Largest(combine_) >= kCombineInShared) {
    builder_.Require("bytes of results that threads combine in shared memory",
                     builder_.At(combine_) == kCombineInDevice ||
                         threads.IsAtMost(SharedBytesForCombining() / ResultBytes()));
  }
  Formula is_private = false;
  for (const InputChoices& input : inputs_) {
    if (!has(input.copy)) continue;
    is_private = is_private || builder_.At(input.copy) >= kPrivate;
    builder_.Require("results or copies in shared memory", !is_shared ||
                                                               builder_.At(input.copy) == kNoCopy ||
                                                               builder_.At(input.copy) == kPrivate);
  }
  builder_.Require("results beside copies in registers", !is_private || results.IsAtMost(most / 2));
  if (limits.registers_per_block == 0) return;
  const auto of_block = static_cast<double>(limits.registers_per_block);
  const Formula bits = ResidencyBits();
  const int64_t of_blocks = FloorLog(of_block / static_cast<double>(RoundUp(per_thread, 8)), 1);
  builder_.Require("registers of a block", If(is_private, threads.total() <= of_blocks - bits,
                                              in_block(of_block / words, bits)));
  if (!has_choice("resident")) return;
  builder_.Require("registers of resident blocks",
                   threads.total() <= FloorLog(of_block / kFewestRegisters, 1) - bits);
}

int64_t NestDecompositions::ResultWords() const {
  int64_t words = MayNeedPresence() ? 1 : 0;
  for (const TypedName& result : e_.function().results()) words += Words(SizeBytes(result.type));
  return words;
}

// At least what one of every result takes in shared memory.
double NestDecompositions::ResultBytes() const {
  double bytes = MayNeedPresence() ? 4 : 0;
  for (const TypedName& result : e_.function().results()) {
    bytes += static_cast<double>(std::max<int64_t>(4, SizeBytes(result.type)));
  }
  return bytes;
}

// Points of the loops on the register layer, which are unrolled. Those of reductions are counted by
// themselves; results of a thread bound the others, so that they need no count of their own.
double NestDecompositions::UnrolledPoints() const {
  return std::max(1.0, static_cast<double>(kMaxUnrolledOperations) /
                           static_cast<double>(OperationsOfPoint(e_)));
}

double NestDecompositions::UnrolledReductions() const {
  if (!e_.has_reduction()) return 1;
  return std::clamp(UnrolledPoints() / kMaxResults, 1.0, kMaxUnrolledReductions);
}

void NestDecompositions::LimitUnrolling() {
  unrolled_ = ProductLimit("points of reductions that are unrolled", UnrolledReductions(), 1);
  for (const int d : turn_) {
    if (!p_.is_reduced(d) || p_.size(d) == 1) continue;
    unrolled_.Multiply(Parts(registers_, d), MostParts(registers_, d));
  }
  if (!is_wide()) unrolled_.Require(builder_);  // else, no dimension has more than its share
}

}  // namespace mdh
