// The parameters of configurations with register tiles, and which values of them go together.
#include "tuner/decompositions/mdh_space_registers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/choose/tiles/tile_choice.h"
#include "codegen/lower/tiles/narrow_reduction.h"
#include "codegen/program/lane_decision.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/index_box.h"
#include "core/decomposition/validate.h"
#include "core/expression/dependences.h"

namespace mdh {

RegisterDecompositions::RegisterDecompositions(MdhProblem given)
    : MdhSpaceKind(std::move(given), LoweringTarget::kRegisterTiles),
      p_(problem_),
      e_(problem_.expression),
      separate_(WithSeparateAccesses(e_)),
      innermost_(InnermostMemoryLayer(problem_.model)),
      lanes_layer_(problem_.model.LayerWith(LayerRole::kLanes) - 1),
      has_registers_(problem_.model.LayerWith(LayerRole::kRegisters) >= 0),
      decides_lanes_(DecidesLanes(e_, problem_.model, problem_.numerics)),
      offers_tiles_(has_registers_ && Reassociates(problem_.numerics) &&
                    !OfferDotUnits({e_, problem_.device, LoweringTarget::kRegisterTiles}).empty()),
      turn_(problem_.DimensionsInTurn()),
      orders_(innermost_ + 1) {
  if (lanes_layer_ < 0) lanes_layer_ = -1;
  AddLanes();
  AddChoice("chains");
  AddStores();
  for (int b = 0; b < std::ssize(e_.inputs()); ++b) AddStaging(b);
  for (const int d : turn_) AddDimension(d);
  AddLimits();
  AddDots();
  for (int b = 0; b < std::ssize(e_.inputs()); ++b) LimitGroups(b);
  AddChoice("accumulate");
  LimitTiles();
  LimitStores();
  AddFreeChoices({"prefetch"});
  AddRemainder();
  AddFreeChoices({"compiler"});
  if (!ExchangeableDimensions(e_).empty()) AddChoiceOf(ChoiceOf("results_of"), {{0}, {1}});
}

// ---- Lanes ----

// Whether neighbours along d are neighbours in a buffer; of few dimensions, any may be.
bool RegisterDecompositions::IsAlongRows(int d) const {
  if (p_.long_dimensions() <= kCopyRank) return true;
  const auto is_along = [d](const Buffer& buffer) {
    return !buffer.extents.empty() && buffer.accesses[0].indices.back().coefficients[d] != 0;
  };
  return std::ranges::any_of(e_.inputs(), is_along) || std::ranges::any_of(e_.outputs(), is_along);
}

std::vector<int64_t> RegisterDecompositions::VectorDimensions() const {
  std::vector<int64_t> dimensions = {-1};
  for (int d = 0; lanes_layer_ >= 0 && d < p_.rank(); ++d) {
    const bool is_free = !p_.is_reduced(d) || !p_.is_ordered(d);
    if (p_.size(d) >= 2 && is_free && IsAlongRows(d)) dimensions.push_back(d);
  }
  return dimensions;
}

// A quarter of a vector up to two, of the widest type or of short integers that are added up; and
// short dimensions as a whole.
std::vector<int64_t> RegisterDecompositions::LaneCounts(
    const std::vector<int64_t>& dimensions) const {
  int64_t longest = 1;
  for (int d = 0; d < p_.rank(); ++d) longest = std::max(longest, p_.size(d));
  const int64_t full = std::max<int64_t>(2, FullLanes(e_, p_.device));
  int64_t most = 2 * full;
  if (const std::optional<NarrowReduction> narrow = NarrowReductionOf(e_)) {
    most = std::max<int64_t>(most, p_.device.simd_bytes / narrow->widest_bytes);
  }
  std::vector<int64_t> counts = {1};
  for (int64_t n = 2; n <= std::min<int64_t>({most, longest, kMaxLanes}); n *= 2) {
    if (n * 4 >= full) counts.push_back(n);
  }
  if (counts.size() == 1) counts.push_back(2);
  for (const int64_t d : dimensions) {
    if (d >= 0 && HasShortLanes(static_cast<int>(d)))
      counts.push_back(p_.size(static_cast<int>(d)));
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

// Whether one vector, some lanes of which are off, has all of dimension d.
bool RegisterDecompositions::HasShortLanes(int d) const {
  const int64_t vector = RoundUpToPowerOfTwo(p_.size(d)), full = FullLanes(e_, p_.device);
  return !p_.is_reduced(d) && !p_.is_ordered(d) && HasMaskedVectors(e_, p_.device, d) &&
         p_.size(d) != vector && vector <= full && 4 * vector >= full;
}

void RegisterDecompositions::AddLanes() {
  const std::vector<int64_t> dimensions = VectorDimensions();
  lane_counts_ = dimensions.size() > 1 ? LaneCounts(dimensions) : std::vector<int64_t>{1};
  vector_dimension_ = builder_.Add("vector_dimension", dimensions);
  lanes_ = builder_.Add("lanes", lane_counts_);
  const Formula along = builder_.At(vector_dimension_), count = builder_.At(lanes_);
  if (lane_counts_.size() > 1) {
    builder_.Require("lanes are along a dimension", (along == -1) == (count == 1));
  }
  lanes_of_.assign(p_.rank(), Formula(1));
  has_lanes_.assign(p_.rank(), false);
  for (const int64_t d : dimensions) {
    if (d < 0) continue;
    lanes_of_[d] = If(along == d, count, 1);
    has_lanes_[d] = true;
    const int64_t most = std::max<int64_t>(p_.size(static_cast<int>(d)), 2);
    if (lane_counts_.back() <= most) continue;
    builder_.Require("lanes are in the dimension", along != d || count <= most);
  }
  for (const int64_t n : lane_counts_) {
    if (n == RoundUpToPowerOfTwo(n)) continue;
    Formula is_whole = count != n;
    for (const int64_t d : dimensions) {
      if (d >= 0 && p_.size(static_cast<int>(d)) == n && HasShortLanes(static_cast<int>(d)))
        is_whole = is_whole || along == d;
    }
    builder_.Require(absl::StrCat(n, " lanes are all of a dimension"), is_whole);
  }
}

// ---- Stores ----

// Along which dimensions neighbours are neighbours in all outputs.
bool RegisterDecompositions::IsAlongOutputs(int d) const {
  return std::ranges::all_of(e_.outputs(), [d](const Buffer& buffer) {
    return buffer.accesses.size() == 1 && buffer.Linearized(0).coefficients[d] == 1;
  });
}

// Where lanes can be neighbours in all outputs.
void RegisterDecompositions::AddStores() {
  bool may_stream = false;
  for (int d = 0; d < p_.rank(); ++d) {
    may_stream = may_stream || (has_lanes_[d] && !p_.is_reduced(d) && IsAlongOutputs(d));
  }
  AddChoice("stores", [&](int64_t streams) { return streams == 0 || may_stream; });
  if (builder_.Largest(choice("stores")) == 0) return;
  const Formula is_cached = ChoiceCode("stores") == 0;
  for (int d = 0; d < p_.rank(); ++d) {
    if (!has_lanes_[d] || (!p_.is_reduced(d) && IsAlongOutputs(d))) continue;
    builder_.Require(absl::StrCat("streamed neighbours are along outputs, not ", p_.name(d)),
                     is_cached || builder_.At(vector_dimension_) != d);
  }
  builder_.Require("vectors are streamed", is_cached || builder_.At(vector_dimension_) != -1);
}

// Results that are combined in memory are read again.
void RegisterDecompositions::LimitStores() {
  if (builder_.Largest(choice("stores")) == 0 || !e_.has_reduction()) return;
  const Formula is_cached = ChoiceCode("stores") == 0;
  builder_.Require("streamed results accumulate in registers",
                   is_cached || ChoiceCode("accumulate") == 1);
  for (int d = 0; d < p_.rank(); ++d) {
    if (!p_.is_reduced(d) || p_.size(d) == 1) continue;
    const Formula whole = dimensions_.at(d).outer(LevelOf(innermost_)) >= p_.size(d);
    builder_.Require(absl::StrCat("streamed results have all of ", p_.name(d)), is_cached || whole);
  }
}

// ---- Remainders ----

// Whole vectors are a way of their own only where a dimension with lanes is no multiple of them.
void RegisterDecompositions::AddRemainder() {
  constexpr auto kVectors = static_cast<int64_t>(Remainder::kVectors);
  Formula has_narrow = false;
  bool may_overlap = false;
  for (int d = 0; d < p_.rank(); ++d) {
    if (p_.is_reduced(d) || p_.size(d) == 1) continue;
    may_overlap = true;
    if (!has_lanes_[d]) continue;
    has_narrow = has_narrow || (builder_.At(vector_dimension_) == d &&
                                Formula(p_.size(d)) % builder_.At(lanes_) != 0);
  }
  const bool may_be_narrow = lane_counts_.size() > 1 && may_overlap;
  AddChoice("remainder", [&](int64_t way) {
    return way == kVectors ? may_be_narrow
                           : may_overlap || way == static_cast<int64_t>(Remainder::kVariants);
  });
  if (!may_be_narrow) return;
  builder_.Require("whole vectors instead of narrower ones",
                   ChoiceCode("remainder") != kVectors || has_narrow);
}

// ---- Packed copies ----

// Inputs of one access each that move apart, in place of input b; itself if all of them move alike.
std::vector<Buffer> RegisterDecompositions::CopiesOf(int b) const {
  std::vector<Buffer> copies;
  for (int c = 0; c < std::ssize(separate_.inputs()); ++c) {
    if (OwnerOf(separate_, c) == b) copies.push_back(separate_.inputs()[c]);
  }
  return copies;
}

void RegisterDecompositions::AddStaging(int b) {
  const Buffer& buffer = e_.inputs()[b];
  const std::vector<Buffer> copies = CopiesOf(b);
  const auto inputs = static_cast<double>(separate_.inputs().size());
  std::vector<int64_t> layers = {InputParameters::kInPlace}, strips = {-1};
  if (CanStageApart(buffer)) {
    // A last strip that is stored whole at most doubles a copy.
    if (CanStageWhole(copies[0]) &&
        2 * static_cast<double>(buffer.size_bytes()) <= WholeBytes() / inputs) {
      layers.push_back(InputParameters::kWholeBuffer);
    }
    // Over many dimensions, copies of parts would couple all of them.
    for (int l = 0; l < innermost_ && p_.long_dimensions() <= kCopyRank; ++l) {
      if (p_.model.layers[l].role == LayerRole::kMemory) layers.push_back(l);
    }
    for (int x = 0; x < std::ssize(buffer.extents); ++x) {
      if (std::ranges::any_of(copies, [&](const Buffer& copy) { return HasStrips(copy, x); }))
        strips.push_back(x);
    }
  }
  // Strips of accesses that move apart are along lanes.
  if (copies.size() > 1 && strips.size() == 1) layers = {InputParameters::kInPlace};
  Staging staging;
  staging.layer = builder_.Add(absl::StrCat("stage_", buffer.name), std::move(layers));
  staging.strip = builder_.Add(absl::StrCat("strip_", buffer.name), std::move(strips));
  const Formula is_copied = builder_.At(staging.layer) != InputParameters::kInPlace;
  builder_.Require(absl::StrCat("strips of ", buffer.name, " are of a copy"),
                   is_copied || builder_.At(staging.strip) == -1);
  staging.layout.Add(builder_, absl::StrCat("layout_", buffer.name),
                     static_cast<int>(buffer.extents.size()), is_copied);
  staging_.push_back(std::move(staging));
  if (copies.size() > 1) LimitSeparateStrips(b, copies);
}

// Whether copies can have strips along index x.
bool RegisterDecompositions::HasStrips(const Buffer& copy, int x) const {
  const int d = StripDimension(e_, copy, x);
  return d >= 0 && p_.size(d) > 1 && (!p_.is_ordered(d) || has_lanes_[d]);
}

// Strips that are groups of neighbours are whole (StripDimension).
void RegisterDecompositions::LimitGroups(int b) {
  const Buffer& buffer = e_.inputs()[b];
  const Formula strip = builder_.At(staging_[b].strip);
  for (int x = 0; x < std::ssize(buffer.extents); ++x) {
    const int d = StripDimension(e_, buffer, x);
    if (!HasStrips(buffer, x) || LoneDimension(e_, buffer, x) == d) continue;
    Formula is_whole = RegisterTile(d) >= p_.size(d);
    if (has_choice("dot")) is_whole = is_whole && ChoiceCode("dot") == 0;
    builder_.Require(absl::StrCat("strips of ", buffer.name, " are groups of ", p_.name(d)),
                     strip != x || is_whole);
  }
}

// Some access has lanes along the strips.
void RegisterDecompositions::LimitSeparateStrips(int b, const std::vector<Buffer>& copies) {
  const Staging& staging = staging_[b];
  if (builder_.parameters()[staging.layer].range.size() == 1) return;
  Formula has_lanes = builder_.At(staging.layer) == InputParameters::kInPlace;
  for (const Buffer& copy : copies) {
    for (int x = 0; x < std::ssize(copy.extents); ++x) {
      const int d = StripDimension(e_, copy, x);
      if (!HasStrips(copy, x) || !has_lanes_[d]) continue;
      has_lanes =
          has_lanes || (builder_.At(staging.strip) == x && builder_.At(vector_dimension_) == d);
    }
  }
  builder_.Require(absl::StrCat("strips of ", e_.inputs()[b].name, " are along lanes"), has_lanes);
}

// ---- Tiles ----

// Part counts that are offered; beyond, neighbours differ too little to be worth a trial.
const std::vector<int64_t>& RegisterDecompositions::PartsOfLoops() const {
  static const auto* const fewer = new std::vector<int64_t>{
      1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024};
  if (p_.long_dimensions() > kMiddleRank) return *fewer;
  static const auto* const counts = new std::vector<int64_t>{
      1,  2,  3,  4,  5,  6,  7,   8,   10,  12,  14,  16,  20,  24,  28,  32,
      40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 384, 512, 768, 1024};
  return *counts;
}

void RegisterDecompositions::AddDimension(int d) {
  const std::vector<int64_t> pinned = p_.PinnedCounts(d);
  DimensionParts& parts =
      dimensions_.emplace(d, DimensionParts(p_.size(d), lanes_of_[d], pinned)).first->second;
  const std::string& dimension = p_.name(d);
  const auto name = [&](const std::string& layer) {
    return absl::StrCat("parts_", layer, "_", dimension);
  };
  if (p_.is_ordered(d)) {
    AddOrderedLevels(d, parts);
  } else {
    std::vector<int64_t> vectors(kMaxRegisterFactor);
    for (int64_t n = 0; n < kMaxRegisterFactor; ++n) vectors[n] = n + 1;
    if (offers_tiles_)
      vectors.insert(vectors.end(), std::begin(kTileFactors), std::end(kTileFactors));
    if (has_registers_) {
      parts.AddLevel(builder_, name("RM"), vectors);
      builder_.Require(absl::StrCat("vectors of ", dimension),
                       parts.parts(0) <= MostRegisterFactor());
    }
    for (int l = innermost_; l > 0; --l) {
      parts.AddLevel(builder_, name(p_.model.layers[l].name),
                     WithPinned(PartsOfLoops(), pinned, p_.size(d)));
      AddOrder(l, d, parts);
    }
  }
  AddOrder(0, d, parts);
}

void RegisterDecompositions::AddOrder(int l, int d, const DimensionParts& parts) {
  orders_[l].Add(builder_, absl::StrCat("order_", p_.model.layers[l].name, "_", p_.name(d)), d,
                 parts.parts(LevelOf(l)) > 1, p_.is_ordered(d) && p_.is_reduced(d));
}

// One loop over what the policy says that a core has.
void RegisterDecompositions::AddOrderedLevels(int d, DimensionParts& parts) {
  const int64_t part = OrderedPart(e_, p_.numerics, d);
  const std::string& dimension = p_.name(d);
  if (has_registers_) parts.AddLevel(builder_, absl::StrCat("parts_RM_", dimension), {}, false);
  for (int l = innermost_; l > 0; --l) {
    std::vector<int64_t> counts;
    if (l == innermost_ && part < p_.size(d)) {
      for (const int64_t lanes : lane_counts_) {
        if (part % lanes == 0) counts.push_back(part / lanes);
      }
      std::ranges::sort(counts);
    }
    parts.AddLevel(builder_, absl::StrCat("parts_", p_.model.layers[l].name, "_", dimension),
                   counts, l == innermost_ && part == p_.size(d));
    AddOrder(l, d, parts);
  }
  builder_.Require(absl::StrCat("part of ", dimension, " that the order of values fixes"),
                   parts.outer(LevelOf(innermost_)) == part);
}

std::unique_ptr<MdhSpaceKind> RegisterTileSpace(MdhProblem problem) {
  return std::make_unique<RegisterDecompositions>(std::move(problem));
}

}  // namespace mdh
