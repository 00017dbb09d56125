#include "tuner/old/mdh_space.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/constraints.h"

namespace mdh::old {
namespace {

// Part counts per level that are offered; beyond, neighbours differ too little to be worth a trial.
constexpr int64_t kFactors[] = {1,   2,   3,   4,   5,   6,   7,   8,   10,  12,  14,
                                16,  20,  24,  28,  32,  40,  48,  56,  64,  80,  96,
                                112, 128, 160, 192, 224, 256, 384, 512, 768, 1024};
constexpr int64_t kMaxRegisterFactor = 16;
constexpr int64_t kPartsPerCore = 64;
constexpr int64_t kSlotsPerCore = 4;

// Lehmer code of a permutation of `items`: digit n is the rank of its n-th entry among those left.
std::vector<int> FromDigits(std::vector<int> items, absl::Span<const int64_t> digits) {
  std::vector<int> permutation;
  for (size_t n = 0; !items.empty(); ++n) {
    const size_t at = n < digits.size() ? static_cast<size_t>(digits[n]) : 0;
    permutation.push_back(items[at]);
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return permutation;
}

std::vector<int64_t> ToDigits(std::vector<int> items, const std::vector<int>& permutation) {
  std::vector<int64_t> digits;
  for (const int entry : permutation) {
    const auto at = std::find(items.begin(), items.end(), entry);
    digits.push_back(at - items.begin());
    items.erase(at);
  }
  return digits;
}

std::vector<int64_t> UpTo(int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(std::max<int64_t>(count, 1)));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

// Positions of the parameters in a configuration, and how their values are read.
struct MdhSpace::Layout {
  Expression expression;
  SystemModel model;
  DeviceDescription device;
  NumericsPolicy numerics;
  int rank;
  int innermost;    // layer of the register tiles
  int lanes_layer;  // layer whose tiles are the lanes, or -1

  int vector_dimension = 0, lanes = 1, tiles = 2;  // tiles: innermost layer first
  int orders, inputs, accumulate, chains, compiler, count;
  std::vector<int> input_start;

  Layout(Expression e, SystemModel m, DeviceDescription d, NumericsPolicy n)
      : expression(std::move(e)),
        model(std::move(m)),
        device(std::move(d)),
        numerics(n),
        rank(expression.rank()),
        innermost(InnermostMemoryLayer(model)),
        lanes_layer(model.LayerWith(LayerRole::kLanes) - 1) {
    if (lanes_layer < 0) lanes_layer = -1;
    orders = tiles + (innermost + 1) * rank;
    inputs = orders + (innermost + 1) * (rank - 1);
    int next = inputs;
    for (const Buffer& buffer : expression.inputs()) {
      input_start.push_back(next);
      next += 2 + std::max<int>(0, static_cast<int>(buffer.extents.size()) - 1);
    }
    accumulate = next++;
    chains = next++;
    compiler = next++;
    count = next;
  }

  int64_t size(int d) const { return expression.dimensions()[d].size; }
  // Whether the policy fixes the order in which values along d are combined.
  bool is_ordered(int d) const {
    return numerics != NumericsPolicy::kReassociate &&
           !expression.combine_operators()[d].is_concat();
  }
  int tile_position(int layer, int d) const { return tiles + (innermost - layer) * rank + d; }
  int order_position(int layer, int n) const { return orders + layer * (rank - 1) + n; }

  int64_t lanes_of(absl::Span<const int64_t> c, int d) const {
    return c[vector_dimension] == d ? c[lanes] : 1;
  }
  int64_t tile(absl::Span<const int64_t> c, int layer, int d) const {
    return c[tile_position(layer, d)];
  }

  // Dimensions with more than one part at a layer: those whose place in the order matters.
  std::vector<int> ActiveDimensions(absl::Span<const int64_t> c, int layer) const {
    std::vector<int> active;
    for (int d = 0; d < rank; ++d) {
      const int64_t outer = layer == 0 ? size(d) : tile(c, layer - 1, d);
      if (outer > tile(c, layer, d)) active.push_back(d);
    }
    return active;
  }

  // ---- Ranges ----

  std::vector<int64_t> LaneCounts(int64_t d) const {
    if (d < 0) return {1};
    int64_t bytes = 1;
    for (const TypedName& t : expression.function().results())
      bytes = std::max<int64_t>(bytes, SizeBytes(t.type));
    for (const TypedName& t : expression.function().parameters())
      bytes = std::max<int64_t>(bytes, SizeBytes(t.type));
    const int64_t full = std::max<int64_t>(2, device.simd_bytes / bytes);
    std::vector<int64_t> counts;
    for (int64_t n = 2; n <= std::min<int64_t>({2 * full, size(static_cast<int>(d)), kMaxLanes});
         n *= 2) {
      if (n * 4 >= full) counts.push_back(n);
    }
    if (counts.empty()) counts.push_back(2);
    return counts;
  }

  std::vector<int64_t> VectorDimensions() const {
    std::vector<int64_t> dimensions = {-1};
    for (int d = 0; lanes_layer >= 0 && d < rank; ++d) {
      if (size(d) < 2) continue;
      if (expression.is_reduction(d) && (is_ordered(d) || !expression.reduction().identity())) {
        continue;
      }
      dimensions.push_back(d);
    }
    return dimensions;
  }

  // Register tiles: whole vectors, within the accumulators that the registers hold.
  std::vector<int64_t> RegisterTiles(absl::Span<const int64_t> prefix, int d) const {
    const int64_t lanes_here = lanes_of(prefix, d);
    if (is_ordered(d)) return {lanes_here};
    if (model.LayerWith(LayerRole::kRegisters) < 0) return {lanes_here};
    int64_t accumulators = 1;
    for (int x = 0; x < d; ++x) {
      if (!expression.is_reduction(x))
        accumulators *= tile(prefix, innermost, x) / lanes_of(prefix, x);
    }
    std::vector<int64_t> values;
    for (int64_t n = 1; n <= kMaxRegisterFactor; ++n) {
      if (n * lanes_here > size(d)) break;
      if (!expression.is_reduction(d) && n > 1 && accumulators * n > device.vector_registers) break;
      values.push_back(n * lanes_here);
    }
    return values;
  }

  std::vector<int64_t> Tiles(absl::Span<const int64_t> prefix, int layer, int d) const {
    if (is_ordered(d)) return {OrderedPart(expression, numerics, d)};
    const int64_t inner = tile(prefix, layer + 1, d);
    int64_t parts_before = 1;  // of the core layer, in the dimensions before d
    int64_t slots_before = 1;
    for (int x = 0; layer == 0 && x < d; ++x) {
      const int64_t parts = (size(x) + tile(prefix, 0, x) - 1) / tile(prefix, 0, x);
      (expression.is_reduction(x) ? slots_before : parts_before) *= parts;
    }
    std::vector<int64_t> values;
    for (const int64_t factor : kFactors) {
      if (inner * factor >= size(d)) break;
      if (layer == 0) {
        const int64_t parts = (size(d) + inner * factor - 1) / (inner * factor);
        const bool reduced = expression.is_reduction(d);
        if (reduced ? slots_before * parts > kSlotsPerCore * device.cores
                    : parts_before * parts > kPartsPerCore * device.cores) {
          continue;
        }
      }
      values.push_back(inner * factor);
    }
    // A whole dimension goes around everything; inside a smaller tile nothing is whole.
    values.push_back(size(d));
    return values;
  }

  std::vector<int64_t> StageLayers(int b) const {
    std::vector<int64_t> layers = {InputParameters::kInPlace};
    if (!CanStage(expression.inputs()[b])) return layers;
    if (CanStageWhole(expression.inputs()[b])) layers.push_back(InputParameters::kWholeBuffer);
    for (int l = 0; l < innermost; ++l) {
      if (model.layers[l].role == LayerRole::kMemory) layers.push_back(l);
    }
    return layers;
  }

  std::vector<int64_t> StripDimensions(absl::Span<const int64_t> prefix, int b) const {
    std::vector<int64_t> dimensions = {-1};
    if (prefix[input_start[b]] == InputParameters::kInPlace) return dimensions;
    const Buffer& buffer = expression.inputs()[b];
    for (int x = 0; x < static_cast<int>(buffer.extents.size()); ++x) {
      const int d = PlainDimension(buffer, x);
      if (d >= 0 && tile(prefix, innermost, d) > 1) dimensions.push_back(x);
    }
    return dimensions;
  }
};

MdhSpace::MdhSpace(Expression expression, SystemModel model, DeviceDescription device,
                   NumericsPolicy numerics)
    : layout_(std::make_shared<Layout>(std::move(expression), std::move(model), std::move(device),
                                       numerics)) {
  const std::shared_ptr<const Layout> at = layout_;
  using Prefix = absl::Span<const int64_t>;
  std::vector<TuningParameter> parameters;
  auto add = [&](std::string name, std::function<std::vector<int64_t>(Prefix)> range) {
    parameters.push_back({std::move(name), std::move(range)});
  };
  auto dimension_name = [&](int d) { return at->expression.dimensions()[d].name; };
  add("vector_dimension", [at](Prefix) { return at->VectorDimensions(); });
  add("lanes", [at](Prefix p) { return at->LaneCounts(p[at->vector_dimension]); });
  for (int l = at->innermost; l >= 0; --l) {
    for (int d = 0; d < at->rank; ++d) {
      add(absl::StrCat("tile_", at->model.layers[l].name, "_", dimension_name(d)),
          [at, l, d](Prefix p) {
            return l == at->innermost ? at->RegisterTiles(p, d) : at->Tiles(p, l, d);
          });
    }
  }
  for (int l = 0; l <= at->innermost; ++l) {
    for (int n = 0; n + 1 < at->rank; ++n) {
      add(absl::StrCat("order_", at->model.layers[l].name, "_", n), [at, l, n](Prefix p) {
        return UpTo(static_cast<int64_t>(at->ActiveDimensions(p, l).size()) - n);
      });
    }
  }
  for (int b = 0; b < static_cast<int>(at->expression.inputs().size()); ++b) {
    const Buffer& buffer = at->expression.inputs()[b];
    const int start = at->input_start[b];
    add(absl::StrCat("stage_", buffer.name), [at, b](Prefix) { return at->StageLayers(b); });
    add(absl::StrCat("strip_", buffer.name),
        [at, b](Prefix p) { return at->StripDimensions(p, b); });
    const int rank = static_cast<int>(buffer.extents.size());
    for (int n = 0; n + 1 < rank; ++n) {
      add(absl::StrCat("layout_", buffer.name, "_", n), [start, rank, n](Prefix p) {
        return p[start] == InputParameters::kInPlace ? UpTo(1) : UpTo(rank - n);
      });
    }
  }
  add("accumulate", [at](Prefix) {
    return at->expression.has_reduction() ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1};
  });
  add("chains", [at](Prefix) {
    const bool possible = at->numerics == NumericsPolicy::kReassociate &&
                          at->expression.has_reduction() && at->expression.reduction().identity();
    return possible ? UpTo(2) : UpTo(1);
  });
  add("compiler", [at](Prefix) {
    const bool clang = absl::StrContains(at->device.compiler, "clang");
    return clang ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1};
  });
  space_ = std::make_shared<SearchSpace>(std::move(parameters), [at](Prefix configuration) {
    const TuningParameters decoded = DecodeWith(*at, configuration);
    return Validate(at->expression, at->model, at->device, decoded).ok() &&
           AccumulatorRegisters(at->expression, at->model, at->device, decoded) <=
               at->device.vector_registers;
  });
}

TuningParameters MdhSpace::DecodeWith(const Layout& at, absl::Span<const int64_t> c) {
  TuningParameters p;
  p.system_model = at.model.name;
  p.numerics = at.numerics;
  const size_t layers = at.model.layers.size();
  p.tile.assign(layers, std::vector<int64_t>(at.rank, 1));
  std::vector<int> identity(at.rank);
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<std::vector<int>> orders(layers, identity);
  for (int l = 0; l <= at.innermost; ++l) {
    for (int d = 0; d < at.rank; ++d) p.tile[l][d] = at.tile(c, l, d);
    const std::vector<int> active = at.ActiveDimensions(c, l);
    std::vector<int> order = FromDigits(
        active, c.subspan(at.order_position(l, 0),
                          active.empty() ? 0 : std::min<size_t>(active.size(), at.rank - 1)));
    for (int d = 0; d < at.rank; ++d) {
      if (std::find(active.begin(), active.end(), d) == active.end()) order.push_back(d);
    }
    orders[l] = std::move(order);
  }
  p.phase.order = NestedOrder(orders);
  for (int l = at.innermost + 1; l <= at.lanes_layer; ++l) {
    for (int d = 0; d < at.rank; ++d) p.tile[l][d] = at.lanes_of(c, d);
  }
  for (size_t b = 0; b < at.expression.inputs().size(); ++b) {
    const size_t rank = at.expression.inputs()[b].extents.size();
    InputParameters input;
    input.stage_layer = static_cast<int>(c[at.input_start[b]]);
    input.strip_dimension = static_cast<int>(c[at.input_start[b] + 1]);
    std::vector<int> row_major(rank);
    std::iota(row_major.begin(), row_major.end(), 0);
    input.layout = FromDigits(row_major, c.subspan(at.input_start[b] + 2, rank > 0 ? rank - 1 : 0));
    p.inputs.push_back(std::move(input));
  }
  p.accumulate_in = static_cast<AccumulateIn>(c[at.accumulate]);
  p.independent_accumulators = c[at.chains] == 1;
  p.compiler = static_cast<Compiler>(c[at.compiler]);
  return p;
}

TuningParameters MdhSpace::Decode(absl::Span<const int64_t> configuration) const {
  return DecodeWith(*layout_, configuration);
}

std::optional<Configuration> MdhSpace::Encode(const TuningParameters& p) const {
  const Layout& at = *layout_;
  if (p.numerics != at.numerics) return std::nullopt;
  if (!Validate(at.expression, at.model, at.device, p).ok()) return std::nullopt;
  Configuration c(at.count, 0);
  c[at.vector_dimension] = -1;
  c[at.lanes] = 1;
  for (int d = 0; at.lanes_layer > 0 && d < at.rank; ++d) {
    if (p.tile[at.lanes_layer][d] > 1) {
      c[at.vector_dimension] = d;
      c[at.lanes] = p.tile[at.lanes_layer][d];
    }
  }
  for (int l = 0; l <= at.innermost; ++l) {
    for (int d = 0; d < at.rank; ++d) c[at.tile_position(l, d)] = p.tile[l][d];
  }
  for (int l = 0; l <= at.innermost; ++l) {
    const std::vector<int> active = at.ActiveDimensions(c, l);
    std::vector<int> order;
    for (const int d : OrderOfLayer(p.phase, l)) {
      if (std::find(active.begin(), active.end(), d) != active.end()) order.push_back(d);
    }
    const std::vector<int64_t> digits = ToDigits(active, order);
    for (int n = 0; n + 1 < at.rank && n < static_cast<int>(digits.size()); ++n) {
      c[at.order_position(l, n)] = digits[n];
    }
  }
  for (size_t b = 0; b < p.inputs.size(); ++b) {
    const InputParameters& input = p.inputs[b];
    c[at.input_start[b]] = input.stage_layer;
    c[at.input_start[b] + 1] = input.strip_dimension;
    std::vector<int> row_major(input.layout.size());
    std::iota(row_major.begin(), row_major.end(), 0);
    const std::vector<int64_t> digits = ToDigits(row_major, input.layout);
    for (size_t n = 0; n + 1 < digits.size(); ++n) {
      const bool in_place = input.stage_layer == InputParameters::kInPlace;
      c[at.input_start[b] + 2 + n] = in_place ? 0 : digits[n];
    }
  }
  c[at.accumulate] = static_cast<int64_t>(p.accumulate_in);
  c[at.chains] = p.independent_accumulators ? 1 : 0;
  c[at.compiler] = static_cast<int64_t>(p.compiler);
  if (!space_->Contains(c)) return std::nullopt;
  return c;
}

}  // namespace mdh::old
