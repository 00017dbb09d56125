// From configurations to tuning parameters of register tiles and back.
#include <algorithm>
#include <cstdlib>

#include "codegen/program/shuffled_stride.h"
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
  SetTiles(open, ranges);
}

// Where there are vectors; the least lanes of these, that of single points left out.
void RegisterDecompositions::SetTiles(OpenCodes open, DesignRanges& ranges) const {
  if (ranges.may_be_scalar || innermost_ == 0) return;
  ranges.least_lanes = ranges.most_lanes;
  for (const int64_t lanes : open[lanes_]) {
    if (lanes > 1) ranges.least_lanes = std::min(ranges.least_lanes, lanes);
  }
  for (int d = 0; d < p_.rank(); ++d) {
    ranges.tile.push_back(TileRange(innermost_, d, open));
    ranges.around_tile.push_back(TileRange(innermost_ - 1, d, open));
  }
  ranges.reduces_in_tile = std::ranges::all_of(open[choice("accumulate")], [](int64_t code) {
    return code == static_cast<int64_t>(AccumulateIn::kRegisters);
  });
  ranges.never_grows = std::ranges::all_of(open[choice("compiler")], [](int64_t code) {
    return code == static_cast<int64_t>(Compiler::kGcc);
  });
  for (int b = 0; b < std::ssize(e_.inputs()); ++b) {
    DimensionSet apart = 0;
    for (const int d : Members(ranges.vectors_along)) {
      if (!MayBeNear(b, d, open)) apart |= DimensionSet{1} << d;
    }
    ranges.apart.push_back(apart);
  }
}

// Whether neighbours along d may be so near to each other, where tiles read input b, that vectors
// of them are loaded.
bool RegisterDecompositions::MayBeNear(int b, int d, OpenCodes open) const {
  const Buffer& buffer = e_.inputs()[b];
  if (buffer.type.is_record()) return true;
  return std::ranges::any_of(open[staging_[b].layer], [&](int64_t layer) {
    if (layer != InputParameters::kInPlace) {
      return MayBeNearInCopy(b, d, static_cast<int>(layer), open);
    }
    for (int a = 0; a < std::ssize(buffer.accesses); ++a) {
      if (std::abs(buffer.Linearized(a).coefficients[d]) <= kFarthestShuffled) return true;
    }
    return false;
  });
}

bool RegisterDecompositions::MayBeNearInCopy(int b, int d, int layer, OpenCodes open) const {
  const Buffer& buffer = e_.inputs()[b];
  int along = -1;  // the only dimension of the buffer in which they differ
  for (int x = 0; x < std::ssize(buffer.extents); ++x) {
    for (const IndexFunction& access : buffer.accesses) {
      if (access.indices[x].coefficients[d] == 0 || along == x) continue;
      if (along >= 0) return true;
      along = x;
    }
  }
  const int last = staging_[b].layout.Last(open);
  if (along < 0 || last < 0 || last == along) return true;
  if (std::ranges::find(open[staging_[b].strip], along) != open[staging_[b].strip].end())
    return true;
  // Of all that differ in the last dimension of the copy there is one between two neighbours.
  int64_t between = 1;
  if (layer == InputParameters::kWholeBuffer) {
    between = buffer.extents[last];
  } else {
    const std::vector<int64_t>& steps = buffer.accesses[0].indices[last].coefficients;
    for (int q = 0; q < p_.rank(); ++q) {
      if (steps[q] != 0) between += std::abs(steps[q]) * (TileRange(layer, q, open).low - 1);
    }
  }
  return between <= kFarthestShuffled;
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
