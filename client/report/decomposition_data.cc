#include "client/report/decomposition_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "core/low_level_buffers.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

using nlohmann::json;

// How a layer works, for people.
const char* WhatOf(LayerRole role) {
  switch (role) {
    case LayerRole::kCores:
      return "cores";
    case LayerRole::kLanes:
      return "vector lanes";
    case LayerRole::kMemory:
      return "in sequence";
    case LayerRole::kRegisters:
      return "unrolled";
    case LayerRole::kDevices:
      return "devices";
    case LayerRole::kWarps:
      return "warps";
    case LayerRole::kThreads:
      return "threads";
  }
  return "";
}

bool IsParallel(LayerRole role) {
  return role != LayerRole::kMemory && role != LayerRole::kRegisters;
}

json Layers(const SystemModel& model) {
  json layers = json::array();
  for (const AsmLayer& layer : model.layers) {
    layers.push_back({{"name", layer.name},
                      {"what", WhatOf(layer.role)},
                      {"is_parallel", IsParallel(layer.role)}});
  }
  return layers;
}

json Dimensions(const Expression& expression) {
  json dimensions = json::array();
  for (int d = 0; d < expression.rank(); ++d) {
    dimensions.push_back({{"name", expression.dimensions()[d].name},
                          {"size", expression.dimensions()[d].size},
                          {"operator", expression.combine_operators()[d].ToString()}});
  }
  return dimensions;
}

// The dimensions of a layer in the order in which it cuts them.
std::vector<int> CutOrder(const LowLevelExpression& low, int layer) {
  std::vector<int> order;
  for (const MdhLevel& level : low.Order(PhaseKind::kDecomposition)) {
    if (level.layer == layer) order.push_back(level.dimension);
  }
  return order;
}

json Rows(const LowLevelExpression& low) {
  json rows = json::array();
  for (int l = 0; l < static_cast<int>(low.model().layers.size()); ++l) {
    json parts = json::array(), tile = json::array(), assigned = json::array();
    for (int d = 0; d < low.expression().rank(); ++d) {
      const LowLevelOperator& level = low.at({l, d});
      const AsmLevel to = level.assigned[static_cast<int>(PhaseKind::kDecomposition)];
      parts.push_back(level.parts);
      tile.push_back(level.tile);
      assigned.push_back(absl::StrCat("on ", low.model().layers[to.layer].name, ",",
                                      low.model().DimensionName(to.dimension)));
    }
    rows.push_back({{"layer", l},
                    {"parts", std::move(parts)},
                    {"tile", std::move(tile)},
                    {"assigned", std::move(assigned)},
                    {"order", CutOrder(low, l)}});
  }
  return rows;
}

// Per dimension of the buffer: the dimensions of md_hom that its index functions use there.
json Uses(const Expression& expression, const Buffer& buffer) {
  json uses = json::array();
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    json dimensions = json::array();
    for (int d = 0; d < expression.rank(); ++d) {
      if (std::any_of(buffer.accesses.begin(), buffer.accesses.end(),
                      [&](const IndexFunction& access) {
                        return access.indices[x].coefficients[d] != 0;
                      })) {
        dimensions.push_back(d);
      }
    }
    uses.push_back(std::move(dimensions));
  }
  return uses;
}

// What the first part of a layer needs of the buffer.
std::vector<int64_t> TileExtents(const LowLevelExpression& low, const Buffer& buffer, int layer) {
  IndexBox points;
  for (int d = 0; d < low.expression().rank(); ++d) {
    points.first.push_back(0);
    points.last.push_back(low.at({layer, d}).tile - 1);
  }
  const IndexBox indices = IndicesOf(buffer, points);
  std::vector<int64_t> extents;
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    extents.push_back(std::min(indices.last[x] - indices.first[x] + 1, buffer.extents[x]));
  }
  return extents;
}

int64_t BytesOf(const std::vector<int64_t>& extents, const Buffer& buffer) {
  int64_t bytes = buffer.type.size_bytes();
  for (const int64_t extent : extents) bytes *= extent;
  return bytes;
}

// The region of a layer's parts: that of the last dimension that it cuts.
int RegionOf(const LowLevelExpression& low, size_t number, bool is_output, int layer) {
  const LowLevelOperator& level = low.at({layer, CutOrder(low, layer).back()});
  return is_output ? level.output_region[number] : level.input_region[number];
}

json BufferData(const LowLevelExpression& low, size_t number, bool is_output) {
  const Expression& expression = low.expression();
  const Buffer& buffer = is_output ? expression.outputs()[number] : expression.inputs()[number];
  json tiles = json::array();
  for (int l = 0; l < static_cast<int>(low.model().layers.size()); ++l) {
    const std::vector<int64_t> extents = TileExtents(low, buffer, l);
    tiles.push_back({{"extents", extents},
                     {"bytes", BytesOf(extents, buffer)},
                     {"region", RegionOf(low, number, is_output, l)}});
  }
  const auto& scalars = is_output ? low.scalar_outputs() : low.scalar_inputs();
  const std::string more =
      buffer.accesses.size() > 1 ? absl::StrCat(", … ", buffer.accesses.size(), " accesses") : "";
  return {{"name", buffer.name},
          {"is_output", is_output},
          {"access", absl::StrCat(ToText(buffer.accesses[0], expression.dimensions()), more)},
          {"extents", buffer.extents},
          {"bytes", buffer.size_bytes()},
          {"element_bytes", buffer.type.size_bytes()},
          {"uses", Uses(expression, buffer)},
          {"tiles", std::move(tiles)},
          {"scalar_region", scalars[number].region}};
}

}  // namespace

json DecompositionData(const LowLevelExpression& low) {
  const Expression& expression = low.expression();
  json buffers = json::array();
  for (size_t b = 0; b < expression.outputs().size(); ++b) {
    buffers.push_back(BufferData(low, b, /*is_output=*/true));
  }
  for (size_t b = 0; b < expression.inputs().size(); ++b) {
    buffers.push_back(BufferData(low, b, /*is_output=*/false));
  }
  return {{"model", low.model().name},
          {"layers", Layers(low.model())},
          {"regions", low.model().memory_regions()},
          {"has_caches", low.model().memory == MemoryKind::kCaches},
          {"is_nested", IsNested(low.parameters().phase)},
          {"dimensions", Dimensions(expression)},
          {"rows", Rows(low)},
          {"buffers", std::move(buffers)},
          {"table", low.ToTable()}};
}

}  // namespace mdh
