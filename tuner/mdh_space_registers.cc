// The space of configurations with register tiles, for CPUs.
#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/constraints.h"
#include "tuner/mdh_space_kind.h"

namespace mdh {
namespace {

constexpr int kExactRank = 2;   // up to here, products of operations are exact
constexpr int kMiddleRank = 3;  // beyond, they are rounded to powers of two

constexpr int kCopyRank = 5;  // beyond, parts of inputs are not copied

// Part counts that are offered; beyond, neighbours differ too little to be worth a trial.
const std::vector<int64_t>& PartsOfLoops(int rank) {
  static const auto* const fewer = new std::vector<int64_t>{
      1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024};
  if (rank > kMiddleRank) return *fewer;
  static const auto* const counts = new std::vector<int64_t>{
      1,  2,  3,  4,  5,  6,  7,   8,   10,  12,  14,  16,  20,  24,  28,  32,
      40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 384, 512, 768, 1024};
  return *counts;
}
constexpr int64_t kMaxRegisterFactor = 16;

class Registers : public MdhSpaceKind {
 public:
  explicit Registers(MdhProblem given)
      : MdhSpaceKind(std::move(given)),
        p_(problem_),
        e_(problem_.expression),
        innermost_(InnermostMemoryLayer(problem_.model)),
        lanes_layer_(problem_.model.LayerWith(LayerRole::kLanes) - 1),
        has_registers_(problem_.model.LayerWith(LayerRole::kRegisters) >= 0),
        turn_(problem_.DimensionsInTurn()),
        orders_(innermost_ + 1) {
    if (lanes_layer_ < 0) lanes_layer_ = -1;
    AddLanes();
    AddChains();
    AddStores();
    for (int b = 0; b < std::ssize(e_.inputs()); ++b) AddStaging(b);
    for (const int d : turn_) AddDimension(d);
    AddLimits();
    accumulate_ = builder_.Add(
        "accumulate", e_.has_reduction() ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
    LimitStores();
    prefetch_ = builder_.Add("prefetch", e_.has_reduction() ? std::vector<int64_t>{0, 2, 8, 32}
                                                            : std::vector<int64_t>{0});
    const bool clang = absl::StrContains(p_.device.compiler, "clang");
    compiler_ =
        builder_.Add("compiler", clang ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
  }

  TuningParameters Decode(absl::Span<const int64_t> c) const override;
  Configuration Read(const TuningParameters& p) const override;

 private:
  // ---- Lanes and chains ----

  // Whether neighbours along d are neighbours in a buffer; of few dimensions, any may be.
  bool IsAlongRows(int d) const {
    if (p_.rank() <= kCopyRank) return true;
    const auto is_along = [d](const Buffer& buffer) {
      return !buffer.extents.empty() && buffer.accesses[0].indices.back().coefficients[d] != 0;
    };
    return std::any_of(e_.inputs().begin(), e_.inputs().end(), is_along) ||
           std::any_of(e_.outputs().begin(), e_.outputs().end(), is_along);
  }

  std::vector<int64_t> VectorDimensions() const {
    std::vector<int64_t> dimensions = {-1};
    for (int d = 0; lanes_layer_ >= 0 && d < p_.rank(); ++d) {
      const bool is_free = !p_.is_reduced(d) || (!p_.is_ordered(d) && e_.reduction().identity());
      if (p_.size(d) >= 2 && is_free && IsAlongRows(d)) dimensions.push_back(d);
    }
    return dimensions;
  }

  // A quarter of a vector up to two.
  std::vector<int64_t> LaneCounts() const {
    int64_t bytes = 1, longest = 1;
    for (const TypedName& t : e_.function().results())
      bytes = std::max<int64_t>(bytes, SizeBytes(t.type));
    for (const TypedName& t : e_.function().parameters())
      bytes = std::max<int64_t>(bytes, SizeBytes(t.type));
    for (int d = 0; d < p_.rank(); ++d) longest = std::max(longest, p_.size(d));
    const int64_t full = std::max<int64_t>(2, p_.device.simd_bytes / bytes);
    std::vector<int64_t> counts = {1};
    for (int64_t n = 2; n <= std::min<int64_t>({2 * full, longest, kMaxLanes}); n *= 2) {
      if (n * 4 >= full) counts.push_back(n);
    }
    if (counts.size() == 1) counts.push_back(2);
    return counts;
  }

  void AddLanes() {
    const std::vector<int64_t> dimensions = VectorDimensions();
    lane_counts_ = dimensions.size() > 1 ? LaneCounts() : std::vector<int64_t>{1};
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
  }

  void AddChains() {
    const bool possible = p_.numerics == NumericsPolicy::kReassociate && e_.has_reduction() &&
                          e_.reduction().identity();
    chains_ =
        builder_.Add("chains", possible ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0});
  }

  // ---- Stores ----

  // Along which dimensions neighbours are neighbours in all outputs.
  bool IsAlongOutputs(int d) const {
    return std::all_of(e_.outputs().begin(), e_.outputs().end(), [d](const Buffer& buffer) {
      return buffer.accesses.size() == 1 && buffer.Linearized(0).coefficients[d] == 1;
    });
  }

  // Only outputs that caches do not keep anyway are worth to go past them.
  void AddStores() {
    int64_t bytes = 0;
    for (const Buffer& buffer : e_.outputs()) bytes += buffer.size_bytes();
    std::vector<int64_t> ways = {0};
    if (bytes > p_.device.l2_bytes && !e_.has_prefix_sum()) {
      for (int d = 0; d < p_.rank() && ways.size() == 1; ++d) {
        if (has_lanes_[d] && !p_.is_reduced(d) && IsAlongOutputs(d)) ways.push_back(1);
      }
    }
    stores_ = builder_.Add("stores", std::move(ways));
    if (builder_.Largest(stores_) == 0) return;
    for (int d = 0; d < p_.rank(); ++d) {
      if (!has_lanes_[d] || (!p_.is_reduced(d) && IsAlongOutputs(d))) continue;
      builder_.Require(absl::StrCat("streamed neighbours are along outputs, not ", p_.name(d)),
                       builder_.At(stores_) == 0 || builder_.At(vector_dimension_) != d);
    }
    builder_.Require("vectors are streamed",
                     builder_.At(stores_) == 0 || builder_.At(vector_dimension_) != -1);
  }

  // Results that are combined in memory are read again.
  void LimitStores() {
    if (builder_.Largest(stores_) == 0 || !e_.has_reduction()) return;
    const Formula is_cached = builder_.At(stores_) == 0;
    builder_.Require("streamed results accumulate in registers",
                     is_cached || builder_.At(accumulate_) == 1);
    for (int d = 0; d < p_.rank(); ++d) {
      if (!p_.is_reduced(d) || p_.size(d) == 1) continue;
      const Formula whole = dimensions_.at(d).outer(LevelOf(innermost_)) >= p_.size(d);
      builder_.Require(absl::StrCat("streamed results have all of ", p_.name(d)),
                       is_cached || whole);
    }
  }

  // ---- Packed copies ----

  struct Staging {
    int layer, strip;
    PermutationDigits layout;
  };

  // Bytes that all whole copies may take; partial results may take the rest, and what they need in
  // any case is theirs.
  double WholeBytes() const {
    double slots = 1;
    for (int d = 0; d < p_.rank(); ++d) {
      if (!p_.is_reduced(d) || !p_.is_ordered(d)) continue;
      const int64_t part = OrderedPart(e_, p_.numerics, d);
      slots *= static_cast<double>((p_.size(d) + part - 1) / part);
    }
    const auto all = static_cast<double>(kMaxSharedScratchBytes);
    const bool is_needed = slots > 1 || e_.has_prefix_sum();
    return is_needed ? std::min(all / 2, all - slots * ResultArrayBytes(e_)) : all / 2;
  }

  void AddStaging(int b) {
    const Buffer& buffer = e_.inputs()[b];
    const auto inputs = static_cast<double>(e_.inputs().size());
    std::vector<int64_t> layers = {InputParameters::kInPlace}, strips = {-1};
    if (CanStage(buffer)) {
      // A last strip that is stored whole at most doubles a copy.
      if (CanStageWhole(buffer) &&
          2 * static_cast<double>(buffer.size_bytes()) <= WholeBytes() / inputs) {
        layers.push_back(InputParameters::kWholeBuffer);
      }
      // Over many dimensions, copies of parts would couple all of them.
      for (int l = 0; l < innermost_ && p_.rank() <= kCopyRank; ++l) {
        if (p_.model.layers[l].role == LayerRole::kMemory) layers.push_back(l);
      }
      for (int x = 0; x < std::ssize(buffer.extents); ++x) {
        const int d = PlainDimension(buffer, x);
        const bool is_tiled = d >= 0 && p_.size(d) > 1 && (!p_.is_ordered(d) || has_lanes_[d]);
        if (is_tiled) strips.push_back(x);
      }
    }
    Staging staging;
    staging.layer = builder_.Add(absl::StrCat("stage_", buffer.name), std::move(layers));
    staging.strip = builder_.Add(absl::StrCat("strip_", buffer.name), std::move(strips));
    const Formula is_copied = builder_.At(staging.layer) != InputParameters::kInPlace;
    builder_.Require(absl::StrCat("strips of ", buffer.name, " are of a copy"),
                     is_copied || builder_.At(staging.strip) == -1);
    staging.layout.Add(builder_, absl::StrCat("layout_", buffer.name),
                       static_cast<int>(buffer.extents.size()), is_copied);
    staging_.push_back(std::move(staging));
  }

  // ---- Tiles ----

  // Level 0 is the register tile where there are registers; the last one is what a core has.
  int LevelOf(int layer) const { return innermost_ - layer + (has_registers_ ? 1 : 0); }

  void AddDimension(int d) {
    DimensionParts& parts =
        dimensions_.emplace(d, DimensionParts(p_.size(d), lanes_of_[d])).first->second;
    const std::string& dimension = p_.name(d);
    const auto name = [&](const std::string& layer) {
      return absl::StrCat("parts_", layer, "_", dimension);
    };
    if (p_.is_ordered(d)) {
      AddOrderedLevels(d, parts);
    } else {
      std::vector<int64_t> vectors(kMaxRegisterFactor);
      for (int64_t n = 0; n < kMaxRegisterFactor; ++n) vectors[n] = n + 1;
      if (has_registers_) {
        parts.AddLevel(builder_, name("RM"), vectors);
        builder_.Require(absl::StrCat("vectors of ", dimension),
                         parts.parts(0) <= kMaxRegisterFactor);
      }
      for (int l = innermost_; l > 0; --l) {
        parts.AddLevel(builder_, name(p_.model.layers[l].name), PartsOfLoops(p_.rank()));
        AddOrder(l, d, parts);
      }
    }
    AddOrder(0, d, parts);
  }

  void AddOrder(int l, int d, const DimensionParts& parts) {
    orders_[l].Add(builder_, absl::StrCat("order_", p_.model.layers[l].name, "_", p_.name(d)), d,
                   parts.parts(LevelOf(l)) > 1, p_.is_ordered(d) && p_.is_reduced(d));
  }

  // One loop over what the policy says that a core has.
  void AddOrderedLevels(int d, DimensionParts& parts) {
    const int64_t part = OrderedPart(e_, p_.numerics, d);
    const std::string& dimension = p_.name(d);
    if (has_registers_) parts.AddLevel(builder_, absl::StrCat("parts_RM_", dimension), {}, false);
    for (int l = innermost_; l > 0; --l) {
      std::vector<int64_t> counts;
      if (l == innermost_ && part < p_.size(d)) {
        for (const int64_t lanes : lane_counts_) {
          if (part % lanes == 0) counts.push_back(part / lanes);
        }
        std::sort(counts.begin(), counts.end());
      }
      parts.AddLevel(builder_, absl::StrCat("parts_", p_.model.layers[l].name, "_", dimension),
                     counts, l == innermost_ && part == p_.size(d));
      AddOrder(l, d, parts);
    }
    builder_.Require(absl::StrCat("part of ", dimension, " that the order of values fixes"),
                     parts.outer(LevelOf(innermost_)) == part);
  }

  // ---- Limits ----

  // Vectors and single points that cover `points` (core/constraints.cc).
  Formula Pieces(const Formula& points, int d) const {
    if (!has_lanes_[d]) return points;
    const Formula vectors = FloorDivide(points, lanes_of_[d]), rest = points % lanes_of_[d];
    if (p_.is_reduced(d)) return vectors + rest;
    std::vector<Formula> bits = {vectors};
    for (int64_t bit = 1; bit < lane_counts_.back(); bit *= 2) {
      bits.push_back(bit == 1 ? rest % 2 : FloorDivide(rest, bit) % 2);
    }
    return Sum(bits);
  }

  Formula RegisterTile(int d) const { return dimensions_.at(d).outer(has_registers_ ? 0 : -1); }

  void AddLimits() {
    const int64_t most_pieces = kMaxRegisterFactor + kMaxLanes;
    const bool is_small = p_.rank() <= kExactRank;
    const bool is_wide = p_.rank() > kMiddleRank;
    ProductLimit registers("vector registers", p_.device.vector_registers,
                           is_small  ? 0
                           : is_wide ? 1
                                     : 2);
    ProductLimit operations("operations of the register tile", OperationLimit(),
                            is_small  ? 0
                            : is_wide ? 1
                                      : 2);
    ProductLimit parts("parts of cores", static_cast<double>(kPartsPerCore * p_.device.cores),
                       is_small ? 4 : 1);
    ProductLimit slots("slots of partial results", MaxSlots(), is_small ? 4 : 1);
    registers.Multiply(RegistersOfVector(), MostRegistersOfVector());
    for (const int d : turn_) {
      const Formula tile = RegisterTile(d), pieces = Pieces(tile, d);
      if (!p_.is_reduced(d)) {
        registers.Multiply(pieces, most_pieces);
      } else if (builder_.Largest(chains_) == 1) {
        registers.Multiply(If(builder_.At(chains_) == 1, pieces, 1), most_pieces);
      }
      if (p_.size(d) > 1) {
        operations.Multiply(pieces + Pieces(Formula(p_.size(d)) % tile, d), 2 * most_pieces);
      }
      if (p_.is_ordered(d)) continue;
      const DimensionParts& dimension = dimensions_.at(d);
      (p_.is_reduced(d) ? slots : parts).Multiply(dimension.parts(dimension.levels()), p_.size(d));
    }
    for (const ProductLimit* limit : {&registers, &operations, &parts, &slots}) {
      limit->Require(builder_);
    }
    for (int b = 0; b < std::ssize(e_.inputs()); ++b) LimitCopies(b);
  }

  double OperationLimit() const {
    return static_cast<double>(kMaxUnrolledOperations) /
           static_cast<double>(e_.function().instructions().size() + 1);
  }

  double MaxSlots() const {
    const double scratch = static_cast<double>(kMaxSharedScratchBytes) - WholeBytes();
    const double fitting = std::max(1.0, scratch / ResultArrayBytes(e_));
    return std::min(static_cast<double>(kSlotsPerCore * p_.device.cores), fitting);
  }

  int64_t MostRegistersOfVector() const {
    int64_t most = 0;
    for (const TypedName& result : e_.function().results()) {
      const int64_t bytes = kMaxLanes * SizeBytes(result.type);
      most += (bytes + p_.device.simd_bytes - 1) / p_.device.simd_bytes;
    }
    return std::max<int64_t>(2, most);
  }

  // Of one vector of every result, by the number of lanes.
  Formula RegistersOfVector() const {
    Formula registers = 0;
    for (const int64_t lanes : lane_counts_) {
      int64_t count = 0;
      for (const TypedName& result : e_.function().results()) {
        count += (lanes * SizeBytes(result.type) + p_.device.simd_bytes - 1) / p_.device.simd_bytes;
      }
      registers = If(builder_.At(lanes_) == lanes, count, registers);
    }
    return registers;
  }

  void LimitCopies(int b) {
    const Buffer& buffer = e_.inputs()[b];
    const double cache = static_cast<double>(p_.device.l2_bytes) +
                         static_cast<double>(p_.device.l3_bytes) / std::max(1, p_.device.cores);
    const double bytes = std::max(4 * cache, 64.0 * 1024) / static_cast<double>(e_.inputs().size());
    const double elements = bytes / (2.0 * static_cast<double>(buffer.type.size_bytes()));
    const Range& stages = builder_.parameters()[staging_[b].layer].range;
    for (uint32_t n = 0; n < stages.size(); ++n) {
      const int64_t layer = stages.CodeAt(n);
      if (layer < 0) continue;
      ProductLimit copy("", elements, p_.rank() <= kExactRank ? 2 : 1);
      double most = 1;
      for (int x = 0; x < std::ssize(buffer.extents); ++x) {
        const ConstantRange constants = ConstantsOf(buffer, x);
        Formula extent = constants.high - constants.low + 1;
        int64_t largest = constants.high - constants.low + 1;
        for (const int d : turn_) {
          const int64_t coefficient = buffer.accesses[0].indices[x].coefficients[d];
          if (coefficient == 0) continue;
          const Formula tile = dimensions_.at(d).outer(LevelOf(static_cast<int>(layer)) - 1);
          extent = std::move(extent) + (tile - 1) * coefficient;
          largest += (p_.size(d) - 1) * coefficient;
        }
        most *= static_cast<double>(largest);
        copy.Multiply(extent, largest);
      }
      if (most <= elements) continue;
      builder_.Require(
          absl::StrCat("copy of ", buffer.name, " at layer ", p_.model.layers[layer].name),
          builder_.At(staging_[b].layer) != layer || copy.IsAtMost(elements));
    }
  }

  // ---- Configurations ----

  int64_t LanesOf(absl::Span<const int64_t> c, int d) const {
    return c[vector_dimension_] == d ? c[lanes_] : 1;
  }

  // Dimensions with more than one part at a layer: those whose place in the order matters.
  std::vector<bool> HasParts(const TuningParameters& p, int layer) const {
    std::vector<bool> has_parts(p_.rank());
    for (int d = 0; d < p_.rank(); ++d) {
      has_parts[d] = (layer == 0 ? p_.size(d) : p.tile[layer - 1][d]) > p.tile[layer][d];
    }
    return has_parts;
  }

  const MdhProblem& p_;
  const Expression& e_;
  const int innermost_;  // layer of the register tiles
  int lanes_layer_;      // layer whose tiles are the lanes, or -1
  const bool has_registers_;
  const std::vector<int> turn_;

  int vector_dimension_, lanes_, chains_, stores_, accumulate_, prefetch_, compiler_;
  std::vector<int64_t> lane_counts_;
  std::vector<Formula> lanes_of_;
  std::vector<bool> has_lanes_;
  std::vector<Staging> staging_;
  std::map<int, DimensionParts> dimensions_;
  std::vector<OrderDigits> orders_;
};

TuningParameters Registers::Decode(absl::Span<const int64_t> c) const {
  TuningParameters p;
  p.system_model = p_.model.name;
  p.numerics = p_.numerics;
  p.tile.assign(p_.model.layers.size(), std::vector<int64_t>(p_.rank(), 1));
  for (int d = 0; d < p_.rank(); ++d) {
    const int64_t lanes = LanesOf(c, d);
    const std::vector<int64_t> extents = dimensions_.at(d).Extents(c, lanes);
    for (int l = 0; l <= innermost_; ++l) {
      const int level = LevelOf(l) - 1;
      p.tile[l][d] = level < 0 ? lanes : extents[level];
    }
    for (int l = innermost_ + 1; l <= lanes_layer_; ++l) p.tile[l][d] = lanes;
  }
  std::vector<std::vector<int>> orders(p_.model.layers.size(), Identity(p_.rank()));
  for (int l = 0; l <= innermost_; ++l) orders[l] = orders_[l].Order(c, HasParts(p, l), p_.rank());
  p.phase.order = NestedOrder(orders);
  for (const Staging& staging : staging_) {
    p.inputs.push_back({.stage_layer = static_cast<int>(c[staging.layer]),
                        .layout = staging.layout.Permutation(c),
                        .strip_dimension = static_cast<int>(c[staging.strip])});
  }
  p.accumulate_in = static_cast<AccumulateIn>(c[accumulate_]);
  p.independent_accumulators = c[chains_] == 1;
  p.streams_results = c[stores_] == 1;
  p.prefetch = static_cast<int>(c[prefetch_]);
  p.compiler = static_cast<Compiler>(c[compiler_]);
  return p;
}

Configuration Registers::Read(const TuningParameters& p) const {
  Configuration c(builder_.parameters().size(), 0);
  c[vector_dimension_] = -1;
  c[lanes_] = 1;
  for (int d = 0; lanes_layer_ > 0 && d < p_.rank(); ++d) {
    if (p.tile[lanes_layer_][d] == 1) continue;
    c[vector_dimension_] = d;
    c[lanes_] = p.tile[lanes_layer_][d];
  }
  for (int d = 0; d < p_.rank(); ++d) {
    std::vector<int64_t> extents;
    for (int l = innermost_; l >= 0; --l) {
      if (LevelOf(l) > 0) extents.push_back(p.tile[l][d]);
    }
    dimensions_.at(d).Read(extents, LanesOf(c, d), c);
  }
  for (int l = 0; l <= innermost_; ++l) {
    orders_[l].Read(OrderOfLayer(p.phase, l), HasParts(p, l), c);
  }
  for (size_t b = 0; b < staging_.size(); ++b) {
    const InputParameters& input = p.inputs[b];
    c[staging_[b].layer] = input.stage_layer;
    c[staging_[b].strip] = input.strip_dimension;
    const bool is_copied = input.stage_layer != InputParameters::kInPlace;
    if (is_copied) staging_[b].layout.Read(input.layout, c);
  }
  c[accumulate_] = static_cast<int64_t>(p.accumulate_in);
  c[chains_] = p.independent_accumulators ? 1 : 0;
  c[stores_] = p.streams_results ? 1 : 0;
  c[prefetch_] = p.prefetch;
  c[compiler_] = static_cast<int64_t>(p.compiler);
  return c;
}

}  // namespace

std::unique_ptr<MdhSpaceKind> RegisterTileSpace(MdhProblem problem) {
  return std::make_unique<Registers>(std::move(problem));
}

}  // namespace mdh
