#include "tuner/decompositions/mdh_space_nest.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

constexpr int64_t kDenseCounts = 8;      // up to here, all part counts are offered
constexpr int64_t kMaxDenseSize = 4096;  // all counts of the longest dimension, if it is no longer
constexpr int64_t kMaxShortSize = 64;    // idem of any dimension
constexpr int64_t kMaxRegisterParts = 32;  // per dimension
constexpr int64_t kMaxWideRegisterParts = 8;
constexpr int64_t kMaxThreads = 1024;  // idem
constexpr int kThinRank = 2;           // beyond, fewer part counts
constexpr int kWideRank = 3;           // beyond, choices are independent of limits where possible

LoweringTarget LoweringOfLevels(const SystemModel& model) {
  return model.memory == MemoryKind::kExplicit ? LoweringTarget::kBlocks
                                               : LoweringTarget::kCacheLevels;
}

}  // namespace

bool NestDecompositions::is_wide() const { return p_.rank() > kWideRank; }

NestDecompositions::NestDecompositions(MdhProblem problem)
    : MdhSpaceKind(std::move(problem), LoweringOfLevels(problem.model)),
      p_(problem_),
      e_(problem_.expression),
      views_(WithSeparateAccesses(e_)),
      layers_(static_cast<int>(problem_.model.layers.size())),
      threads_(problem_.model.LayerWith(LayerRole::kThreads)),
      warps_(problem_.model.LayerWith(LayerRole::kWarps)),
      turn_(problem_.DimensionsInTurn()),
      orders_(layers_),
      inputs_(e_.inputs().size()) {
  for (int l = 0; l < layers_; ++l) {
    if (is_core(l)) continue;
    ++regions_;
    (outer_ < 0 ? outer_ : inner_ < 0 ? inner_ : registers_) = l;
  }
  if (is_explicit()) {
    if (HasKept() && !is_wide()) innermost_ = builder_.Add("kept_loops_innermost", {0, 1});
  }
  for (const int d : turn_) AddDimension(d);
  if (is_explicit()) {
    AddExplicitChoices();
  } else {
    AddChoice("compiler");
  }
  AddLimits();
}

// ---- Dimensions ----

bool NestDecompositions::HasKept() const {
  return std::ranges::any_of(turn_, [&](int d) { return IsKept(d) && p_.size(d) > 1; });
}

bool NestDecompositions::MayRunInParallel(int d) const { return !p_.is_ordered(d) && MayBeCut(d); }

// Blocks along d: of many reductions, only along the longest.
bool NestDecompositions::MayBeCut(int d) const {
  if (!is_wide() || !p_.is_reduced(d) || p_.is_ordered(d)) return true;
  return std::ranges::all_of(turn_, [&](int other) {
    return !p_.is_reduced(other) || std::pair(p_.size(other), d) <= std::pair(p_.size(d), other);
  });
}

// Most parts that are unrolled; many reductions share what can be unrolled.
int64_t NestDecompositions::UnrolledParts(int d) const {
  if (!is_wide()) return kMaxRegisterParts;
  if (!p_.is_reduced(d)) return kMaxWideRegisterParts;
  std::vector<int> reductions;
  for (const int other : turn_) {
    if (p_.is_reduced(other) && p_.size(other) > 1) reductions.push_back(other);
  }
  std::ranges::stable_sort(reductions, [&](int a, int b) { return p_.size(a) < p_.size(b); });
  double left = UnrolledReductions();
  for (const int other : reductions) {
    const auto most =
        static_cast<int64_t>(std::min({left, static_cast<double>(p_.size(other)), 4.0}));
    if (other == d) return most;
    left /= static_cast<double>(std::max<int64_t>(1, most));
  }
  return 1;
}

std::vector<int64_t> NestDecompositions::CountsOf(int layer, int d) const {
  const int64_t size = p_.size(d);
  const LayerRole role = p_.model.layers[layer].role;
  const int64_t dense = p_.rank() > kThinRank ? 4 : kDenseCounts;
  const auto counts = [&](int64_t most) {
    return WithPinned(PartCounts(size, dense, most), p_.PinnedCounts(d), most);
  };
  if (role == LayerRole::kRegisters) return counts(UnrolledParts(d));
  if (is_thread(layer)) {
    const int64_t most = std::min<int64_t>(kMaxThreads, p_.device.blocks.max_threads_per_block);
    return MayRunInParallel(d) ? counts(most) : std::vector<int64_t>{1};
  }
  return counts(size);
}

// Whatever a schedule says. What the policy orders counts as longest, as it is first in turn.
bool NestDecompositions::IsLongest(int d) const {
  const auto rank_of = [&](int other) {
    const bool is_fixed = p_.is_ordered(other) && p_.is_reduced(other);
    return std::tuple(is_fixed, is_fixed ? 0 : p_.size(other), -other);
  };
  return std::ranges::all_of(turn_, [&](int other) { return rank_of(other) <= rank_of(d); });
}

// All counts, where nothing is cut inside.
std::vector<int64_t> NestDecompositions::CountsAlone(int layer, int d) const {
  const bool is_dense = p_.size(d) <= kMaxShortSize ||
                        (p_.size(d) <= kMaxDenseSize && (IsLongest(d) || !is_explicit()));
  const bool is_middle = layer == (is_explicit() ? inner_ : outer_ + 1);
  if (is_wide() || !is_dense || !is_middle) return {};
  std::vector<int64_t> counts(p_.size(d));
  std::iota(counts.begin(), counts.end(), 1);
  return counts;
}

void NestDecompositions::AddDimension(int d) {
  DimensionParts& parts =
      dimensions_.emplace(d, DimensionParts(p_.size(d), 1, p_.PinnedCounts(d))).first->second;
  for (int l = layers_ - 1; l > 0; --l) {
    const bool may_be_rest = MayBeRest(l, d);
    parts.AddLevel(builder_, absl::StrCat("parts_", p_.model.layers[l].name, "_", p_.name(d)),
                   CountsOf(l, d), may_be_rest, CountsAlone(l, d));
    AddOrder(l, d);
  }
  AddOrder(0, d);
  if (p_.is_ordered(d)) RequireOrderedParts(d);
  if (!MayBeCut(d)) {
    builder_.Require(absl::StrCat("blocks along ", p_.name(d)), parts.parts(parts.levels()) == 1);
  }
}

bool NestDecompositions::MayBeRest(int layer, int d) const {
  if (is_thread(layer)) return MayRunInParallel(d);
  return layer != registers_ || !is_explicit() || p_.size(d) <= UnrolledParts(d);
}

void NestDecompositions::AddOrder(int l, int d) {
  if (p_.size(d) == 1 || p_.rank() == 1 || (is_core(l) && is_explicit())) return;
  orders_[l].Add(builder_, absl::StrCat("order_", p_.model.layers[l].name, "_", p_.name(d)), d,
                 Parts(l, d) > 1, p_.is_ordered(d) && p_.is_reduced(d));
}

void NestDecompositions::RequireOrderedParts(int d) {
  builder_.Require(absl::StrCat("part of ", p_.name(d), " that the order of values fixes"),
                   Tile(0, d) == OrderedPart(e_, p_.numerics, d));
}

// ---- Choices of explicit memory ----

void NestDecompositions::AddExplicitChoices() {
  AddPlaces();
  AddBlockCombination();
  AddResults();
  AddResidency();
  AddGrid();
  AddBlock();
  AddLanes();
  AddCopyFlags();
  AddCopyDetails();
  AddFreeChoices({"scan", "keyed", "early", "unroll"});
}

Formula NestDecompositions::IsInnermost() const {
  return innermost_ < 0 ? Formula(true) : builder_.At(innermost_) == 1;
}

void NestDecompositions::AddPlaces() {
  if (is_wide()) {
    place_ = builder_.Add("threads_place", {kResultsInnermost});
    return;
  }
  place_ =
      builder_.Add("threads_place", {kNested, kThreadsFirst, kResultsInnermost, kThreadsInside});
  const Formula place = builder_.At(place_);
  if (innermost_ >= 0) {
    builder_.Require("place of the loops of kept dimensions",
                     (place == kResultsInnermost) == IsInnermost());
  } else {
    builder_.Require("place of the threads", place != kThreadsInside);
  }
}

// Where several blocks share a reduction. The levels of warps leave no room for one more choice,
// but with few dimensions.
void NestDecompositions::AddBlockCombination() {
  const bool has_room = !has_warps() || p_.rank() <= kThinRank;
  Formula has_blocks = 0;
  bool may_share = false;
  for (const int d : turn_) {
    if (!p_.is_reduced(d) || p_.size(d) == 1 || !MayBeCut(d)) continue;
    has_blocks = Max({has_blocks, If(Parts(0, d) > 1, 1, 0)});
    may_share = has_room;
  }
  constexpr auto kPartials = static_cast<int64_t>(CombineBlocks::kPartials);
  AddChoice("combine", [&](int64_t how) { return how == kPartials || may_share; });
  if (!has_choice("combine")) return;
  builder_.Require("blocks that combine by atomics",
                   ChoiceCode("combine") == kPartials || has_blocks == 1);
}

void NestDecompositions::AddResults() {
  results_ = builder_.Add(
      "results", {kInDevice, kRegistersInside, kRegistersAround, kSharedInside, kSharedAround});
  std::vector<int64_t> combine = {kCombineInDevice};
  const bool has_threads_along_reductions = std::ranges::any_of(
      turn_, [&](int d) { return p_.is_reduced(d) && p_.size(d) > 1 && MayRunInParallel(d); });
  if (has_threads_along_reductions) {
    combine.push_back(kCombineInShared);
    if (HasShuffles(p_.device) && !is_wide()) combine.push_back(kShuffle);
  }
  combine_ = builder_.Add("threads_combine", combine);
  const Formula results = builder_.At(results_), place = builder_.At(place_);
  const Formula is_around = results == kRegistersAround || results == kSharedAround;
  builder_.Require("results around the outer loops",
                   !is_around || place == kResultsInnermost || place == kThreadsInside);
  if (combine.size() == 1) return;
  // Regions get faster inwards: nothing slower is inside of the threads.
  const Formula how = builder_.At(combine_);
  builder_.Require(
      "threads combine around where results accumulate",
      how == kCombineInDevice || is_around || (place == kNested && results != kInDevice));
  if (combine.size() == 3) {
    builder_.Require("threads that shuffle accumulate in registers",
                     how != kShuffle || results == kRegistersInside || results == kRegistersAround);
  }
}

// Blocks on a multiprocessor, where combined results leave room for them. More numbers would be too
// many together with the limits of threads, registers and copies; many dimensions or levels leave
// no room for any.
void NestDecompositions::AddResidency() {
  const bool has_room = !is_wide() && !has_warps();
  AddChoice("resident", [&](int64_t count) {
    return count == 0 || (has_room && SharedBytesForCopies(count) > 0);
  });
}

// Which dimensions blocks and threads run along x and y; see DecodeAssignment.
void NestDecompositions::AddGrid() {
  if (p_.rank() == 1) return;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& dimensions) {
    const int x = builder_.Add(absl::StrCat(name, "_x"), dimensions);
    const int y = builder_.Add(absl::StrCat(name, "_y"), dimensions);
    builder_.Require(absl::StrCat("dimensions of the ", name), builder_.At(x) != builder_.At(y));
    return std::pair(x, y);
  };
  std::vector<int64_t> dimensions(p_.rank());
  for (int d = 0; d < p_.rank(); ++d) dimensions[d] = d;
  std::tie(grid_x_, grid_y_) = add("grid", dimensions);
  std::tie(block_x_, block_y_) = add("block", dimensions);
}

void NestDecompositions::AddBlock() {
  if (builder_.Largest(combine_) == kCombineInDevice) return;
  const Formula how = builder_.At(combine_);
  Formula has_threads = 0;
  for (const int d : turn_) {
    if (!p_.is_reduced(d) || p_.size(d) == 1 || !MayRunInParallel(d)) continue;
    const Formula& threads = Parts(threads_, d);
    has_threads = Max({has_threads, If(threads > 1, 1, 0)});
    if (builder_.Largest(combine_) < kShuffle || block_x_ < 0) continue;
    builder_.Require(absl::StrCat("threads along ", p_.name(d), " that shuffle are neighbours"),
                     how != kShuffle || threads == 1 || builder_.At(block_x_) == d);
  }
  builder_.Require("threads along a reduction combine",
                   how == kCombineInDevice || has_threads == 1);
}

// Tiles of lanes where threads run along x and y as asked for (AxesOf). With more dimensions or
// reductions, they would be too many together with other choices: there, only designs have them.
void NestDecompositions::AddLanes() {
  if (p_.rank() != 2 || !IsKept(0) || !IsKept(1) || has_warps()) return;
  for (const auto& [x, y] : {std::pair(1, 2), {2, 2}, {4, 8}, {8, 4}}) {
    if (p_.device.blocks.warp_size % (x * y) == 0) tiles_.push_back({x, y});
  }
  if (tiles_.empty()) return;
  std::vector<int64_t> numbers(tiles_.size() + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  lanes_ = builder_.Add("lanes", std::move(numbers));
  const Formula tile = builder_.At(lanes_);
  for (const int d : turn_) {
    const Formula& threads = Parts(threads_, d);
    const Formula is_x = builder_.At(block_x_) == d, is_y = builder_.At(block_y_) == d;
    const std::string name = absl::StrCat("tiles of lanes along ", p_.name(d));
    for (size_t n = 0; n < tiles_.size(); ++n) {
      const auto& [x, y] = tiles_[n];
      const Formula divides_x = threads % x == 0 && threads > x, divides_y = threads % y == 0;
      builder_.Require(
          name, tile != static_cast<int64_t>(n + 1) || If(is_x, divides_x, !is_y || divides_y));
    }
  }
}

// ---- Copies ----

void NestDecompositions::AddCopyFlags() {
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    const Buffer& buffer = e_.inputs()[b];
    if (!CanStageApart(buffer)) continue;
    inputs_[b].copy = builder_.Add(absl::StrCat("copy_", buffer.name),
                                   {kNoCopy, kShared, kPrivate, kSharedAndPrivate});
  }
}

void NestDecompositions::AddCopyDetails() {
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    InputChoices& input = inputs_[b];
    if (!has(input.copy)) continue;
    const std::string& name = e_.inputs()[b].name;
    const Formula copy = builder_.At(input.copy);
    const Formula is_shared = copy == kShared || copy == kSharedAndPrivate;
    const auto add = [&](const std::string& what, std::vector<int64_t> values) {
      const int64_t usual = values[0];
      const int parameter = builder_.Add(absl::StrCat(what, "_", name), std::move(values));
      builder_.Require(absl::StrCat(what, " is of a copy of ", name),
                       is_shared || builder_.At(parameter) == usual);
      return parameter;
    };
    input.layout.Add(builder_, absl::StrCat("layout_", name),
                     static_cast<int>(e_.inputs()[b].extents.size()), is_shared);
    input.padding = add(
        "padding", is_wide() ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0, 1, 2, 4, 8});
    if (const int width = CopyWidth(b); width > 1) {
      input.width = add("copy_width", {1, width});
      builder_.Require(absl::StrCat("elements of ", name, " that are copied at once"),
                       builder_.At(input.width) == 1 || WidthFits(b, width));
    }
    const bool may_be_asynchronous = MayBeAsynchronous(b);
    // Many dimensions or levels leave no room for the products of more.
    const bool may_be_more = may_be_asynchronous && !is_wide() && !has_warps();
    std::vector<int64_t> stages(may_be_more ? InputParameters::kMaxAsyncStages : 2);
    std::iota(stages.begin(), stages.end(), 1);
    input.stages = add("copy_stages", std::move(stages));
    if (may_be_asynchronous) {
      input.mode = add("copy_mode", {static_cast<int64_t>(CopyMode::kThroughRegisters),
                                     static_cast<int64_t>(CopyMode::kAsynchronous)});
      LimitAsyncCopies(b);
    }
    RequireLoopAround(b);
  }
}

// The next part is copied during the computation: there must be a loop with a next part right
// outside of the copy.
void NestDecompositions::RequireLoopAround(int b) {
  Formula has_loops = 0;
  for (const int d : turn_) {
    if (p_.size(d) == 1 || (e_.has_reduction() && !p_.is_reduced(d))) continue;
    has_loops = Max({has_loops, If(Parts(outer_, d) > 1, 1, 0)});
  }
  const Formula place = builder_.At(place_);
  const Formula is_inside = e_.has_reduction() ? place != kNested : place == kThreadsFirst;
  const Formula has_next = is_inside && has_loops == 1;
  builder_.Require(absl::StrCat("loop around the copy of ", e_.inputs()[b].name),
                   builder_.At(inputs_[b].stages) == 1 || has_next);
}

std::unique_ptr<MdhSpaceKind> NestSpace(MdhProblem problem) {
  return std::make_unique<NestDecompositions>(std::move(problem));
}

}  // namespace mdh
