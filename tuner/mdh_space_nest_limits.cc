// The limits of devices on configurations that are lowered level by level. Every limit of
// core/validate_nest.cc has its constraint here, never a weaker one.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/constraints.h"
#include "tuner/mdh_space_nest.h"

namespace mdh {
namespace {

constexpr int64_t kPartsPerCore = 64;     // of CPUs
constexpr int64_t kSlotsPerCore = 4;      // idem
constexpr double kMaxBlockSlots = 65536;  // of partial results in device memory
constexpr double kMaxUnrolledPoints = 256;
constexpr int64_t kMaxPrivateWords = 4096;  // where registers are not limited
constexpr double kMaxStackResults = 4096;
constexpr double kMaxCopiedElements = 1 << 30;

int64_t Words(int64_t bytes) { return (bytes + 3) / 4; }

}  // namespace

void Nest::AddLimits() {
  if (p_.numerics != NumericsPolicy::kReassociate) LimitOrderedLoops();
  LimitReductions();
  if (!is_explicit()) {
    ProductLimit parts("parts of cores", static_cast<double>(kPartsPerCore * p_.device.cores),
                       is_wide() ? 1 : 2);
    for (const int d : turn_) {
      if (!p_.is_reduced(d) && !p_.is_ordered(d)) parts.Multiply(Parts(0, d), p_.size(d));
    }
    parts.Require(builder_);
    return;
  }
  LimitBlocks();
  LimitThreads();
  LimitRegisters();
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    if (!has_choice(inputs_[b].copy)) continue;
    LimitCopies(b);
    LimitPrivateCopies(b);
  }
}

// ---- Partial results and order ----

double Nest::MaxSlots() const {
  double bytes = static_cast<double>(kMaxSharedScratchBytes);
  if (is_explicit()) {
    bytes = std::min(bytes, static_cast<double>(p_.device.blocks.memory_bytes) -
                                static_cast<double>(e_.CompulsoryBytes()));
  }
  const double most =
      is_explicit() ? kMaxBlockSlots : static_cast<double>(kSlotsPerCore * p_.device.cores);
  return std::clamp(std::floor(bytes / ResultArrayBytes(e_)), 1.0, most);
}

// Threads that combine in faster memory have no slots, but are counted, too: how they combine is
// decided when their numbers are no longer known.
void Nest::LimitReductions() {
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
void Nest::LimitOrderedLoops() {
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
void Nest::KeepOrderedLoopsInside() {
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

// Most blocks per dimension: so few that all but the two longest dimensions can be folded into the
// grid's z.
std::vector<int64_t> Nest::GridCaps() const {
  std::vector<int64_t> caps(p_.rank());
  for (int d = 0; d < p_.rank(); ++d) {
    caps[d] =
        p_.is_reduced(d) ? std::min(p_.size(d), static_cast<int64_t>(MaxSlots())) : p_.size(d);
    if (p_.is_ordered(d)) {
      const int64_t part = OrderedPart(e_, p_.numerics, d);
      caps[d] = (p_.size(d) + part - 1) / part;
    }
  }
  if (p_.rank() <= 3) return caps;
  std::vector<int> folded = Identity(p_.rank());
  std::stable_sort(folded.begin(), folded.end(), [&](int a, int b) { return caps[a] > caps[b]; });
  folded.erase(folded.begin(), folded.begin() + 2);
  const auto product = [&] {
    double blocks = 1;
    for (const int d : folded) blocks *= static_cast<double>(caps[d]);
    return blocks;
  };
  const auto cap = [&](int d) { return p_.is_ordered(d) ? 1 : caps[d]; };
  while (product() > static_cast<double>(p_.device.blocks.max_grid[2])) {
    const int longest = *std::max_element(folded.begin(), folded.end(),
                                          [&](int a, int b) { return cap(a) < cap(b); });
    if (cap(longest) == 1) break;
    caps[longest] = (caps[longest] + 1) / 2;
  }
  return caps;
}

void Nest::LimitBlocks() {
  const std::vector<int64_t> caps = GridCaps();
  for (int d = 0; d < p_.rank(); ++d) {
    if (caps[d] >= p_.size(d) || p_.is_ordered(d)) continue;
    builder_.Require(absl::StrCat("blocks of ", p_.name(d)), Parts(0, d) <= caps[d]);
  }
}

void Nest::LimitThreads() {
  const BlockLimits& limits = p_.device.blocks;
  ProductLimit threads("threads of a block", limits.max_threads_per_block, 1);
  ProductLimit lanes("threads of a warp", limits.warp_size, 1);
  Formula are_not_powers = 0;
  const int64_t axis = std::min(limits.max_block[0], limits.max_block[1]);
  for (const int d : turn_) {
    if (!MayRunInParallel(d) || p_.size(d) == 1) continue;
    for (const int l : {warps_, threads_}) {
      if (l < 0) continue;
      const Formula& parts = Parts(l, d);
      threads.Multiply(parts, MostParts(l, d));
      if (has_warps() && l == threads_) lanes.Multiply(parts, MostParts(l, d));
      are_not_powers = Max({are_not_powers, If(Divides(parts, int64_t{1} << 30), 0, 1)});
      const bool is_limited = MostParts(l, d) > axis && axis < limits.max_threads_per_block;
      if (is_limited && (!has_warps() || l == warps_)) {
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
void Nest::LimitRegisters() {
  const BlockLimits& limits = p_.device.blocks;
  const int64_t per_thread =
      limits.registers_per_thread > 0 ? limits.registers_per_thread : kMaxPrivateWords;
  const auto words = static_cast<double>(ResultWords());
  const double most = static_cast<double>(per_thread) / words;
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
  LimitUnrolling();
  const Formula is_shared = builder_.At(results_) >= kSharedInside;
  const auto in_block = [&](double limit) {
    return results.total() + threads.total() <= FloorLog(limit, 1);
  };
  builder_.Require("bytes of results in shared memory",
                   !is_shared || in_block(SharedBytesForCopies() / ResultBytes()));
  if (builder_.Largest(combine_) >= kCombineInShared) {
    builder_.Require("bytes of results that threads combine in shared memory",
                     builder_.At(combine_) == kCombineInDevice ||
                         threads.IsAtMost(SharedBytesForCombining() / ResultBytes()));
  }
  Formula is_private = false;
  for (const InputChoices& input : inputs_) {
    if (!has_choice(input.copy)) continue;
    is_private = is_private || builder_.At(input.copy) >= kPrivate;
    builder_.Require("results or copies in shared memory", !is_shared ||
                                                               builder_.At(input.copy) == kNoCopy ||
                                                               builder_.At(input.copy) == kPrivate);
  }
  builder_.Require("results beside copies in registers", !is_private || results.IsAtMost(most / 2));
  if (limits.registers_per_block == 0) return;
  const auto of_block = static_cast<double>(limits.registers_per_block);
  builder_.Require("registers of a block",
                   If(is_private, threads.IsAtMost(of_block / static_cast<double>(per_thread)),
                      in_block(of_block / words)));
}

int64_t Nest::ResultWords() const {
  int64_t words = 0;
  for (const TypedName& result : e_.function().results()) words += Words(SizeBytes(result.type));
  return words;
}

// At least what one of every result takes in shared memory.
double Nest::ResultBytes() const {
  double bytes = 0;
  for (const TypedName& result : e_.function().results()) {
    bytes += static_cast<double>(std::max<int64_t>(4, SizeBytes(result.type)));
  }
  return bytes;
}

void Nest::LimitUnrolling() {
  const auto operations = static_cast<double>(e_.function().instructions().size() + 1);
  unrolled_ = ProductLimit("points of the loops that are unrolled",
                           std::min(kMaxUnrolledPoints, kMaxUnrolledOperations / operations), 1);
  for (const int d : turn_) {
    if (p_.size(d) == 1) continue;
    unrolled_.Multiply(Parts(registers_, d), MostParts(registers_, d));
  }
  unrolled_.Require(builder_);
}

// ---- Copies ----

// What threads may need to combine their results; every array is padded to 16 bytes.
double Nest::SharedBytesForCombining() const {
  const auto all = static_cast<double>(p_.device.blocks.shared_bytes_per_block);
  if (builder_.Largest(combine_) == kCombineInDevice) return 0;
  const double needed = p_.device.blocks.max_threads_per_block * ResultBytes();
  return std::min(all / 2, needed);
}

double Nest::SharedBytesForCopies() const {
  constexpr double kAlignment = 16;
  const auto arrays = static_cast<double>(e_.inputs().size() + 2 * e_.function().results().size());
  return static_cast<double>(p_.device.blocks.shared_bytes_per_block) - kAlignment * arrays -
         SharedBytesForCombining();
}

// The box that is copied: of one dimension of the buffer after the other.
ProductLimit Nest::Footprint(int b, bool is_shared, double elements) const {
  const Buffer& buffer = e_.inputs()[b];
  ProductLimit box(absl::StrCat("copy of ", buffer.name), elements, 1);
  const std::vector<int> widths = CopyWidths(b);
  for (int x = 0; x < std::ssize(buffer.extents); ++x) {
    const ConstantRange constants = ConstantsOf(buffer, x);
    Formula extent = constants.high - constants.low + 1;
    int64_t largest = constants.high - constants.low + 1;
    for (const int d : turn_) {
      const int64_t coefficient = buffer.accesses[0].indices[x].coefficients[d];
      if (coefficient == 0 || p_.size(d) == 1) continue;
      const DimensionParts& parts = dimensions_.at(d);
      const Formula inside = is_shared ? parts.span(LevelOf(outer_ + 1)) : Parts(registers_, d);
      Formula points = inside;
      if (IsKept(d)) {  // its outer loops may be innermost
        const Formula all = parts.span(LevelOf(outer_));
        const bool is_plain = PlainDimension(buffer, x) == d;
        const Formula apart = is_plain && !is_shared ? If(inside == 1, Parts(outer_, d), all) : all;
        points = If(IsInnermost() && Parts(outer_, d) > 1, apart, inside);
      }
      extent = std::move(extent) + (points - 1) * coefficient;
      largest += 2 * p_.size(d) * coefficient;
    }
    if (is_shared && x + 1 == std::ssize(buffer.extents) && !widths.empty()) {
      extent = CeilDivide(extent, widths.back()) * widths.back();
      largest += widths.back();
    }
    box.Multiply(extent, largest);
  }
  return box;
}

// Bits that padding can add: of rows of one element.
int64_t Nest::PaddingBits(int64_t padding) const {
  return FloorLog(2.0 * static_cast<double>(padding) + 1, 1);
}

void Nest::LimitCopies(int b) {
  const Buffer& buffer = e_.inputs()[b];
  const InputChoices& input = inputs_[b];
  const double elements = SharedBytesForCopies() / static_cast<double>(inputs_.size()) /
                          static_cast<double>(buffer.type.size_bytes());
  const ProductLimit box = Footprint(b, /*is_shared=*/true, elements);
  if (is_wide()) {  // whatever is copied, in two stages and with padding
    builder_.Require(absl::StrCat("part of ", buffer.name, " that could be copied"),
                     box.IsAtMost(elements / 4));
    return;
  }
  const Formula copy = builder_.At(input.copy), padding = builder_.At(input.padding);
  const Formula is_shared = copy == kShared || copy == kSharedAndPrivate;
  const Range& paddings = builder_.parameters()[input.padding].range;
  for (uint32_t n = 0; n < paddings.size(); ++n) {
    for (int64_t stages = 1; stages <= 2; ++stages) {
      const int64_t bits = (n == 0 ? 0 : PaddingBits(paddings.CodeAt(n))) + stages - 1;
      builder_.Require(absl::StrCat("bytes of the copy of ", buffer.name),
                       !is_shared || padding != paddings.CodeAt(n) ||
                           builder_.At(input.stages) != stages ||
                           box.IsAtMost(elements / std::exp2(static_cast<double>(bits))));
    }
  }
}

void Nest::LimitPrivateCopies(int b) {
  const Buffer& buffer = e_.inputs()[b];
  const BlockLimits& limits = p_.device.blocks;
  const Formula is_private = builder_.At(inputs_[b].copy) >= kPrivate;
  const double words =
      static_cast<double>(limits.registers_per_thread > 0 ? limits.registers_per_thread
                                                          : kMaxPrivateWords) /
      2 / static_cast<double>(inputs_.size());
  const double elements = words / static_cast<double>(Words(buffer.type.size_bytes()));
  double most = 1, spread = 1;  // elements of all parts; of a part, per point
  for (int x = 0; x < std::ssize(buffer.extents); ++x) {
    const ConstantRange constants = ConstantsOf(buffer, x);
    auto largest = static_cast<double>(constants.high - constants.low + 1);
    spread *= largest;
    for (const int d : turn_) {
      const int64_t coefficient = buffer.accesses[0].indices[x].coefficients[d];
      if (coefficient == 0) continue;
      largest += 2 * static_cast<double>(p_.size(d) * coefficient);
      spread *= static_cast<double>(coefficient);
    }
    most *= largest;
  }
  const std::string name = absl::StrCat("copy of ", buffer.name, " in registers");
  if (most > kMaxCopiedElements) {
    builder_.Require(name, !is_private);
  } else if (is_wide()) {
    builder_.Require(name,
                     !is_private || (!IsInnermost() && unrolled_.IsAtMost(elements / spread)));
  } else {
    builder_.Require(name,
                     !is_private || Footprint(b, /*is_shared=*/false, elements).IsAtMost(elements));
  }
}

// Widths with which the rows of a buffer can be copied wherever parts begin.
std::vector<int> Nest::CopyWidths(int b) const {
  constexpr int64_t kMaxCopyBytes = 16;  // of one instruction
  const Buffer& buffer = e_.inputs()[b];
  std::vector<int> widths;
  if (buffer.type.is_record() || buffer.boundary.kind != Boundary::Kind::kNone) return widths;
  const std::vector<int64_t> strides = buffer.strides();
  const int last = static_cast<int>(buffer.extents.size()) - 1;
  if (last < 0 || strides[last] != 1) return widths;
  const auto& coefficients = buffer.accesses[0].indices[last].coefficients;
  // Others are copied in steps.
  if (std::any_of(coefficients.begin(), coefficients.end(), [](int64_t c) { return c > 1; })) {
    return widths;
  }
  for (int width = 2; width * buffer.type.size_bytes() <= kMaxCopyBytes; width *= 2) {
    const bool is_aligned = buffer.extents[last] % width == 0 &&
                            ConstantsOf(buffer, last).low % width == 0 &&
                            std::all_of(strides.begin(), strides.end() - 1,
                                        [&](int64_t stride) { return stride % width == 0; });
    if (is_aligned) widths.push_back(width);
  }
  if (is_wide() && widths.size() > 1) widths.erase(widths.begin(), widths.end() - 1);
  return widths;
}

// Parts outside of the box begin at multiples of the width.
Formula Nest::WidthFits(int b, int64_t width) const {
  const Buffer& buffer = e_.inputs()[b];
  const auto& coefficients = buffer.accesses[0].indices.back().coefficients;
  Formula fits = true;
  for (const int d : turn_) {
    if (coefficients[d] == 0 || p_.size(d) == 1) continue;
    fits = fits && (Parts(0, d) == 1 || Tile(0, d) % width == 0);
    const Formula is_inside = IsKept(d) ? IsInnermost() : Formula(false);
    fits = fits && (is_inside || Parts(outer_, d) == 1 || Tile(outer_, d) % width == 0);
  }
  return fits;
}

}  // namespace mdh
