// The limits of CPUs on configurations with register tiles. Every limit of
// core/decomposition/validate_register_tiles.cc has its constraint here, never a weaker one.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/decomposition/constraints.h"
#include "tuner/decompositions/mdh_space_registers.h"

namespace mdh {

// Vectors and single points that cover `points` (core/decomposition/constraints.cc).
Formula RegisterDecompositions::Pieces(const Formula& points, int d) const {
  if (!has_lanes_[d]) return points;
  const Formula vectors = FloorDivide(points, lanes_of_[d]), rest = points % lanes_of_[d];
  if (p_.is_reduced(d)) return vectors + rest;
  std::vector<Formula> bits = {vectors};
  for (int64_t bit = 1; bit < lane_counts_.back(); bit *= 2) {
    bits.push_back(bit == 1 ? rest % 2 : FloorDivide(rest, bit) % 2);
  }
  return Sum(bits);
}

void RegisterDecompositions::AddLimits() {
  const int64_t most_pieces = MostRegisterFactor() + kMaxLanes;
  const bool is_small = p_.long_dimensions() <= kExactRank;
  const bool is_wide = p_.long_dimensions() > kMiddleRank;
  ProductLimit registers("vector registers", p_.device.vector_registers,
                         is_small  ? 0
                         : is_wide ? 1
                                   : 2);
  ProductLimit operations("operations of the register tile", OperationLimit(),
                          is_small  ? 0
                          : is_wide ? 1
                                    : 2);
  ProductLimit parts("parts of cores", p_.MostPartsOfCores(), is_small ? 4 : 1);
  ProductLimit slots("slots of partial results", MaxSlots(), is_small ? 4 : 1);
  registers.Multiply(RegistersOfVector(), MostRegistersOfVector());
  for (const int d : turn_) {
    const Formula tile = RegisterTile(d), pieces = Pieces(tile, d);
    if (!p_.is_reduced(d)) {
      registers.Multiply(pieces, most_pieces);
    } else if (builder_.Largest(choice("chains")) == 1) {
      registers.Multiply(If(ChoiceCode("chains") == 1, pieces, 1), most_pieces);
    }
    if (p_.size(d) > 1) {
      operations.Multiply(pieces + Pieces(Formula(p_.size(d)) % tile, d), 2 * most_pieces);
    }
    if (p_.is_ordered(d)) continue;
    const DimensionParts& dimension = dimensions_.at(d);
    (p_.is_reduced(d) ? slots : parts).Multiply(dimension.parts(dimension.levels()), p_.size(d));
  }
  // Without tiles it is no choice at all, not even one without limits.
  AddChoice("dot_unit", [this](int64_t) { return offers_tiles_; });
  for (const ProductLimit* limit : {&registers, &operations}) {
    if (!offers_tiles_) limit->Require(builder_);
  }
  if (offers_tiles_) {
    const Formula is_on_tiles = IsOnTiles();
    builder_.Require("vector registers",
                     is_on_tiles || registers.IsAtMost(p_.device.vector_registers));
    builder_.Require("operations of the register tile",
                     is_on_tiles || operations.IsAtMost(OperationLimit()));
  }
  for (const ProductLimit* limit : {&parts, &slots}) limit->Require(builder_);
  AddThreads(parts.total() + slots.total(), is_small ? 4 : 1);
  for (int b = 0; b < std::ssize(e_.inputs()); ++b) LimitCopies(b);
}

// Bytes that all whole copies may take; partial results may take the rest, and what they need in
// any case is theirs.
double RegisterDecompositions::WholeBytes() const {
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

double RegisterDecompositions::OperationLimit() const {
  return static_cast<double>(kMaxUnrolledOperations) /
         static_cast<double>(e_.function().instructions().size() + 1);
}

double RegisterDecompositions::MaxSlots() const {
  const double scratch = static_cast<double>(kMaxSharedScratchBytes) - WholeBytes();
  const double fitting = std::max(1.0, scratch / ResultArrayBytes(e_));
  return std::min(static_cast<double>(kSlotsPerCore * p_.device.cores), fitting);
}

int64_t RegisterDecompositions::MostRegistersOfVector() const {
  int64_t most = 0;
  for (const TypedName& result : e_.function().results()) {
    const int64_t bytes = kMaxLanes * SizeBytes(Info(result.type).computed);
    most += (bytes + p_.device.simd_bytes - 1) / p_.device.simd_bytes;
  }
  return std::max<int64_t>(2, most);
}

// Of one vector of every result, by the number of lanes.
Formula RegisterDecompositions::RegistersOfVector() const {
  Formula registers = 0;
  for (const int64_t lanes : lane_counts_) {
    int64_t count = 0;
    for (const TypedName& result : e_.function().results()) {
      const int64_t bytes = lanes * SizeBytes(Info(result.type).computed);
      count += (bytes + p_.device.simd_bytes - 1) / p_.device.simd_bytes;
    }
    registers = If(builder_.At(lanes_) == lanes, count, registers);
  }
  return registers;
}

void RegisterDecompositions::LimitCopies(int b) {
  for (const Buffer& copy : CopiesOf(b)) LimitCopy(b, copy);
}

void RegisterDecompositions::LimitCopy(int b, const Buffer& buffer) {
  const double bytes = MostStagedBytes(p_.device) / static_cast<double>(separate_.inputs().size());
  const double elements = bytes / (2.0 * static_cast<double>(buffer.type.size_bytes()));
  const Range& stages = builder_.parameters()[staging_[b].layer].range;
  for (uint32_t n = 0; n < stages.size(); ++n) {
    const int64_t layer = stages.CodeAt(n);
    if (layer < 0) continue;
    ProductLimit copy("", elements, p_.long_dimensions() <= kExactRank ? 2 : 1);
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

}  // namespace mdh
