#include "tuner/mdh_space_nest.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/constraints.h"

namespace mdh {
namespace {

constexpr int64_t kDenseCounts = 16;     // up to here, all part counts are offered
constexpr int64_t kMaxDenseSize = 4096;  // all counts of the longest dimension, if it is no longer
constexpr int64_t kMaxShortSize = 128;   // idem of any dimension
constexpr int64_t kMaxRegisterParts = 32;  // per dimension
constexpr int64_t kMaxThreads = 1024;      // idem
constexpr int kWideRank = 4;  // beyond, choices are independent of limits where possible

}  // namespace

bool Nest::is_wide() const { return p_.rank() > kWideRank; }

Nest::Nest(MdhProblem problem)
    : MdhSpaceKind(std::move(problem)),
      p_(problem_),
      e_(problem_.expression),
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
    const bool has_kept =
        std::any_of(turn_.begin(), turn_.end(), [&](int d) { return IsKept(d) && p_.size(d) > 1; });
    if (has_kept) innermost_ = builder_.Add("kept_loops_innermost", {0, 1});
  }
  for (const int d : turn_) AddDimension(d);
  if (is_explicit()) {
    AddExplicitChoices();
  } else {
    const bool clang = absl::StrContains(p_.device.compiler, "clang");
    compiler_ =
        builder_.Add("compiler", clang ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
  }
  AddLimits();
}

// ---- Dimensions ----

// Threads along reductions may have nothing to do where parts are not whole, which needs an
// identity.
bool Nest::MayRunInParallel(int d) const {
  if (p_.is_ordered(d)) return false;
  return !p_.is_reduced(d) || e_.reduction().identity().has_value();
}

std::vector<int64_t> Nest::CountsOf(int layer, int d) const {
  const int64_t size = p_.size(d);
  const LayerRole role = p_.model.layers[layer].role;
  if (role == LayerRole::kRegisters) return PartCounts(size, kDenseCounts, kMaxRegisterParts);
  if (is_thread(layer)) {
    const int64_t most = std::min<int64_t>(kMaxThreads, p_.device.blocks.max_threads_per_block);
    return MayRunInParallel(d) ? PartCounts(size, is_wide() ? 4 : kDenseCounts, most)
                               : std::vector<int64_t>{1};
  }
  const bool is_dense =
      size <= kMaxShortSize || (size <= kMaxDenseSize && (d == turn_[0] || !is_explicit()));
  const bool is_middle = layer == (is_explicit() ? inner_ : outer_ + 1);
  if (is_dense && is_middle && !is_wide()) return PartCounts(size, size, size);
  return PartCounts(size, is_wide() ? 8 : kDenseCounts, size);
}

void Nest::AddDimension(int d) {
  DimensionParts& parts = dimensions_.emplace(d, DimensionParts(p_.size(d), 1)).first->second;
  for (int l = layers_ - 1; l > 0; --l) {
    const bool may_be_rest = !is_thread(l) || MayRunInParallel(d);
    parts.AddLevel(builder_, absl::StrCat("parts_", p_.model.layers[l].name, "_", p_.name(d)),
                   CountsOf(l, d), may_be_rest);
    AddOrder(l, d);
  }
  AddOrder(0, d);
  if (p_.is_ordered(d)) RequireOrderedParts(d);
}

void Nest::AddOrder(int l, int d) {
  if (p_.size(d) == 1 || p_.rank() == 1 || (is_core(l) && is_explicit())) return;
  orders_[l].Add(builder_, absl::StrCat("order_", p_.model.layers[l].name, "_", p_.name(d)), d,
                 Parts(l, d) > 1, p_.is_ordered(d) && p_.is_reduced(d));
}

void Nest::RequireOrderedParts(int d) {
  builder_.Require(absl::StrCat("part of ", p_.name(d), " that the order of values fixes"),
                   Tile(0, d) == OrderedPart(e_, p_.numerics, d));
}

// ---- Choices of explicit memory ----

void Nest::AddExplicitChoices() {
  AddPlaces();
  AddResults();
  AddGrid();
  AddBlock();
  AddCopyFlags();
  AddCopyDetails();
  unroll_ = builder_.Add("unroll", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096});
}

Formula Nest::IsInnermost() const {
  return innermost_ < 0 ? Formula(true) : builder_.At(innermost_) == 1;
}

void Nest::AddPlaces() {
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

void Nest::AddResults() {
  results_ = builder_.Add(
      "results", {kInDevice, kRegistersInside, kRegistersAround, kSharedInside, kSharedAround});
  std::vector<int64_t> combine = {kCombineInDevice};
  const bool has_threads_along_reductions = std::any_of(turn_.begin(), turn_.end(), [&](int d) {
    return p_.is_reduced(d) && p_.size(d) > 1 && MayRunInParallel(d);
  });
  if (has_threads_along_reductions) {
    combine.push_back(kCombineInShared);
    const bool may_shuffle =
        p_.device.blocks.warp_size > 1 && DeviceKindOf(p_.model) == DeviceKind::kCuda;
    if (may_shuffle) combine.push_back(kShuffle);
  }
  combine_ = builder_.Add("combine", combine);
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

void Nest::AddGrid() {
  if (p_.rank() == 1) return;
  const std::vector<int64_t> caps = GridCaps();
  std::vector<int64_t> dimensions;
  for (int d = 0; d < p_.rank(); ++d) dimensions.push_back(d);
  grid_x_ = builder_.Add("grid_x", dimensions);
  grid_y_ = builder_.Add("grid_y", dimensions);
  const Formula x = builder_.At(grid_x_), y = builder_.At(grid_y_);
  const std::array<int64_t, 3>& limits = p_.device.blocks.max_grid;
  std::vector<std::pair<int, int>> allowed;
  for (int i = 0; i < p_.rank(); ++i) {
    for (int j = 0; j < p_.rank(); ++j) {
      double folded = 1;
      for (int d = 0; d < p_.rank(); ++d) {
        if (d != i && d != j) folded *= static_cast<double>(caps[d]);
      }
      // Long ones are constrained where they are cut.
      if (i != j && (folded <= static_cast<double>(limits[2]) || p_.rank() <= 3)) {
        allowed.push_back({i, j});
      }
    }
  }
  builder_.Require("dimensions of the grid",
                   Formula::Of({"grid_x and grid_y are apart, and the others fit the grid's z",
                                [allowed](absl::Span<const int64_t> codes) {
                                  return std::find(allowed.begin(), allowed.end(),
                                                   std::pair(static_cast<int>(codes[0]),
                                                             static_cast<int>(codes[1]))) !=
                                         allowed.end();
                                }},
                               {"grid_x", "grid_y"}));
  for (int d = 0; d < p_.rank(); ++d) {
    const Formula& blocks = Parts(0, d);
    const std::string& name = p_.name(d);
    if (p_.size(d) > limits[1]) {
      builder_.Require(absl::StrCat("blocks along y of ", name), y != d || blocks <= limits[1]);
    }
    if (p_.size(d) > limits[2] && p_.rank() <= 3) {
      builder_.Require(absl::StrCat("blocks along z of ", name),
                       x == d || y == d || blocks <= limits[2]);
    }
    if (p_.size(d) > limits[0]) {
      builder_.Require(absl::StrCat("blocks along x of ", name), x != d || blocks <= limits[0]);
    }
  }
}

// Which of up to three dimensions with threads run along x, y and z: permutations of the first,
// second and third of them.
void Nest::AddBlock() {
  // Added to the number of one along a reduction, so that the sum of two cannot be one's.
  constexpr int64_t kMaxDimensions = 3;
  Formula count = 0, long_one = 0, reduced_one = 0;
  const std::array<int64_t, 3>& limits = p_.device.blocks.max_block;
  for (const int d : turn_) {
    if (!MayRunInParallel(d) || p_.size(d) == 1) continue;
    const Formula& threads = Parts(threads_, d);
    if (!has_warps() && MostParts(threads_, d) > limits[2]) {
      long_one = long_one + If(threads > limits[2], count + 1, 0);
    }
    if (p_.is_reduced(d))
      reduced_one = reduced_one + If(threads > 1, count + 1 + kMaxDimensions, 0);
    count = count + If(threads > 1, 1, 0);
  }
  axes_ = builder_.Add("axes", {0, 1, 2, 3, 4, 5});
  const Formula axes = builder_.At(axes_);
  builder_.Require("dimensions with threads", count <= 3);
  builder_.Require("axes of threads",
                   If(count <= 1, axes == 0, If(count == 2, axes <= 1, axes <= 5)));
  // Along z: the third, third, second, second, first, first.
  builder_.Require("threads along z",
                   long_one == 0 || long_one != If(axes <= 1, 3, If(axes <= 3, 2, 1)));
  if (builder_.Largest(combine_) == kCombineInDevice) return;
  const Formula how = builder_.At(combine_);
  builder_.Require("threads along a reduction combine", how == kCombineInDevice || reduced_one > 0);
  if (builder_.Largest(combine_) < kShuffle) return;
  // Along x: the first, second, first, third, second, third.
  const Formula first_along_x = If(axes == 0 || axes == 2, 1, If(axes == 1 || axes == 4, 2, 3));
  builder_.Require("threads that shuffle are neighbours",
                   how != kShuffle || reduced_one == first_along_x);
}

// ---- Copies ----

void Nest::AddCopyFlags() {
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    const Buffer& buffer = e_.inputs()[b];
    if (!CanStage(buffer)) continue;
    inputs_[b].copy = builder_.Add(absl::StrCat("copy_", buffer.name),
                                   {kNoCopy, kShared, kPrivate, kSharedAndPrivate});
  }
}

void Nest::AddCopyDetails() {
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    InputChoices& input = inputs_[b];
    if (!has_choice(input.copy)) continue;
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
    input.stages = add("copy_stages", {1, 2});
    // The next part is copied during the computation: there must be a loop with a next part right
    // outside of the copy.
    Formula has_loops = 0;
    for (const int d : turn_) {
      if (p_.size(d) == 1 || (e_.has_reduction() && !p_.is_reduced(d))) continue;
      has_loops = Max({has_loops, If(Parts(outer_, d) > 1, 1, 0)});
    }
    const Formula place = builder_.At(place_);
    const Formula is_inside = e_.has_reduction() ? place != kNested : place == kThreadsFirst;
    const Formula has_next = is_inside && has_loops == 1;
    builder_.Require(absl::StrCat("loop around the copy of ", name),
                     builder_.At(input.stages) == 1 || has_next);
  }
}

std::unique_ptr<MdhSpaceKind> NestSpace(MdhProblem problem) {
  return std::make_unique<Nest>(std::move(problem));
}

}  // namespace mdh
