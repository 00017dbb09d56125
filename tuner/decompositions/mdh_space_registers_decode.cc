// From configurations to tuning parameters of register tiles and back.
#include <algorithm>

#include "tuner/decompositions/mdh_space_registers.h"

namespace mdh {

TuningParameters RegisterDecompositions::Decode(absl::Span<const int64_t> c) const {
  TuningParameters p;
  p.system_model = p_.model.name;
  p.lowering = Lowering::kTiles;
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
  for (int l = 0; l <= innermost_; ++l)
    orders[l] = orders_[l].Order(c, p_.HasParts(p, l), p_.rank());
  p.phase.order = NestedOrder(orders);
  for (const Staging& staging : staging_) {
    p.inputs.push_back({.stage_layer = static_cast<int>(c[staging.layer]),
                        .layout = staging.layout.Permutation(c),
                        .strip_dimension = static_cast<int>(c[staging.strip])});
  }
  DecodeChoices(c, &p);
  return p;
}

ExtentRange RegisterDecompositions::TileRange(int layer, int d, OpenCodes open) const {
  ExtentRange lanes;
  const absl::Span<const int64_t> along = open[vector_dimension_], counts = open[lanes_];
  if (std::ranges::find(along, d) != along.end()) {
    const auto [least, most] = std::ranges::minmax_element(counts);
    lanes = {along.size() == 1 ? *least : 1, *most};
  }
  return dimensions_.at(d).OuterRange(open, lanes, LevelOf(layer) - 1);
}

// Where all that are open decide about vectors, none of which dot instructions may multiply.
void RegisterDecompositions::SetVectors(OpenCodes open, DesignRanges& ranges) const {
  if (has_choice("dot") && std::ranges::any_of(open[choice("dot")], [](int64_t d) { return d; })) {
    return;
  }
  DimensionSet along = 0;
  bool may_be_scalar = false;
  for (const int64_t d : open[vector_dimension_]) {
    if (d < 0 && !decides_lanes_) return;
    may_be_scalar = may_be_scalar || d < 0;
    if (d >= 0) along |= DimensionSet{1} << d;
  }
  ranges.vectors_along = along;
  ranges.may_be_scalar = may_be_scalar;
  ranges.most_lanes = *std::ranges::max_element(open[lanes_]);
}

Configuration RegisterDecompositions::Read(const TuningParameters& p) const {
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
    orders_[l].Read(OrderOfLayer(p.phase, l), p_.HasParts(p, l), c);
  }
  for (size_t b = 0; b < staging_.size(); ++b) {
    const InputParameters& input = p.inputs[b];
    c[staging_[b].layer] = input.stage_layer;
    c[staging_[b].strip] = input.strip_dimension;
    const bool is_copied = input.stage_layer != InputParameters::kInPlace;
    if (is_copied) staging_[b].layout.Read(input.layout, c);
  }
  ReadChoices(p, c);
  ReadThreads(p, c);
  return c;
}

}  // namespace mdh
