#include "client/report/decomposition_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "core/decomposition/index_box.h"
#include "core/decomposition/low_level_summary.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "proto/device_conversion.h"

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

json RegionMeanings(const SystemModel& model) {
  json meanings = json::array();
  for (const std::string& region : model.memory_regions()) {
    meanings.push_back(SpelledOutName(region));
  }
  return meanings;
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

// Levels of one layer that follow one another in the order of de-composition: they cut what the row
// before leaves. Where layers are nested there is one row for each.
struct CutRow {
  int layer;
  std::vector<int> order;       // dimensions
  std::vector<int64_t> extent;  // of one part, in points, per dimension
};

// Points along `d` that are left when the levels `is_cut` have been cut. If these are the outer
// layers, the extent of the innermost of them; else, points need not be neighbours, what the other
// levels' parts make.
int64_t PointsLeft(const LowLevelExpression& low, int d, const std::vector<bool>& is_cut) {
  const auto innermost = std::ranges::find(is_cut, false);
  if (std::find(innermost, is_cut.end(), true) == is_cut.end()) {
    const int layers = static_cast<int>(innermost - is_cut.begin());
    return layers == 0 ? low.expression().dimensions()[d].size : low.at({layers - 1, d}).tile;
  }
  int64_t points = 1;
  for (size_t l = 0; l < is_cut.size(); ++l) {
    if (!is_cut[l]) points *= low.at({static_cast<int>(l), d}).parts;
  }
  return points;
}

std::vector<CutRow> CutRows(const LowLevelExpression& low) {
  const int rank = low.expression().rank();
  std::vector<std::vector<bool>> is_cut(rank, std::vector<bool>(low.model().layers.size(), false));
  std::vector<CutRow> rows;
  for (const MdhLevel& level : low.Order(PhaseKind::kDecomposition)) {
    if (rows.empty() || rows.back().layer != level.layer) rows.push_back({level.layer, {}, {}});
    rows.back().order.push_back(level.dimension);
    is_cut[level.dimension][level.layer] = true;
    rows.back().extent.clear();
    for (int d = 0; d < rank; ++d) rows.back().extent.push_back(PointsLeft(low, d, is_cut[d]));
  }
  return rows;
}

json Rows(const LowLevelExpression& low, const std::vector<CutRow>& cut_rows) {
  json rows = json::array();
  for (const CutRow& row : cut_rows) {
    std::vector<int64_t> parts(low.expression().rank(), 1);
    std::vector<std::string> assigned(low.expression().rank());
    for (const int d : row.order) {
      const LowLevelOperator& level = low.at({row.layer, d});
      const AsmLevel to = level.assigned[static_cast<int>(PhaseKind::kDecomposition)];
      parts[d] = level.parts;
      assigned[d] = absl::StrCat("on ", low.model().layers[to.layer].name, ",",
                                 low.model().DimensionName(to.dimension));
    }
    rows.push_back({{"index", rows.size()},
                    {"layer", row.layer},
                    {"parts", parts},
                    {"tile", row.extent},
                    {"assigned", assigned},
                    {"order", row.order}});
  }
  return rows;
}

// Per dimension of the buffer: the dimensions of md_hom that its index functions use there.
json Uses(const Expression& expression, const Buffer& buffer) {
  json uses = json::array();
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    json dimensions = json::array();
    for (int d = 0; d < expression.rank(); ++d) {
      if (std::ranges::any_of(buffer.accesses, [&](const IndexFunction& access) {
            return access.indices[x].coefficients[d] != 0;
          })) {
        dimensions.push_back(d);
      }
    }
    uses.push_back(std::move(dimensions));
  }
  return uses;
}

// What one part of a row needs of the buffer.
std::vector<int64_t> TileExtents(const CutRow& row, const Buffer& buffer) {
  IndexBox points;
  for (const int64_t extent : row.extent) {
    points.first.push_back(0);
    points.last.push_back(extent - 1);
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

// The region of a row's parts: that of the last level that it cuts.
int RegionOf(const LowLevelExpression& low, size_t number, bool is_output, const CutRow& row) {
  const LowLevelOperator& level = low.at({row.layer, row.order.back()});
  return is_output ? level.output_region[number] : level.input_region[number];
}

json BufferData(const LowLevelExpression& low, const std::vector<CutRow>& rows, size_t number,
                bool is_output) {
  const Expression& expression = low.expression();
  const Buffer& buffer = is_output ? expression.outputs()[number] : expression.inputs()[number];
  json tiles = json::array();
  for (const CutRow& row : rows) {
    const std::vector<int64_t> extents = TileExtents(row, buffer);
    tiles.push_back({{"extents", extents},
                     {"bytes", BytesOf(extents, buffer)},
                     {"region", RegionOf(low, number, is_output, row)}});
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

Result<LowLevelExpression> Decompose(const Expression& expression, const std::string& parameters,
                                     const v1::DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const TuningParameters parsed,
                       ParseTuningParameters(parameters, expression));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(parsed.system_model));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription description, FromProto(device));
  return Lower(expression, model, description, parsed);
}

Result<LowLevelExpression> DecompositionOf(const v1::TuningRecord& record) {
  MDH_ASSIGN_OR_RETURN(const Expression expression, ParseExpression(record.expression_text()));
  return Decompose(expression, record.parameters(), record.device());
}

std::optional<UnitUse> UnitUseOf(const v1::TuningRecord& record) {
  const Result<DeviceDescription> device = FromProto(record.device());
  const Result<LowLevelExpression> low = DecompositionOf(record);
  if (!device.ok() || !low.ok()) return std::nullopt;
  const v1::MachinePeaks& peaks = record.peaks();
  return UnitUseOf(*low, *device,
                   {.clock_hz = peaks.clock_hz(), .units = FromProto(peaks.units())});
}

json DecompositionData(const LowLevelExpression& low) {
  const Expression& expression = low.expression();
  const std::vector<CutRow> rows = CutRows(low);
  json buffers = json::array();
  for (size_t b = 0; b < expression.outputs().size(); ++b) {
    buffers.push_back(BufferData(low, rows, b, /*is_output=*/true));
  }
  for (size_t b = 0; b < expression.inputs().size(); ++b) {
    buffers.push_back(BufferData(low, rows, b, /*is_output=*/false));
  }
  return {{"model", low.model().name},
          {"layers", Layers(low.model())},
          {"regions", low.model().memory_regions()},
          {"region_meanings", RegionMeanings(low.model())},
          {"has_caches", low.model().memory == MemoryKind::kCaches},
          {"is_nested", IsNested(low.parameters().phase)},
          {"dimensions", Dimensions(expression)},
          {"rows", Rows(low, rows)},
          {"buffers", std::move(buffers)},
          {"table", low.ToTable()}};
}

}  // namespace mdh
