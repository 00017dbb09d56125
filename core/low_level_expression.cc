#include "core/low_level_expression.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/constraints.h"

namespace mdh {
namespace {

// The region that a part of `layer` is meant to stay in: that of the next memory layer inside.
std::string RegionInside(const SystemModel& model, int layer) {
  for (size_t l = layer + 1; l < model.layers.size(); ++l) {
    if (!model.layers[l].memory_region.empty()) return model.layers[l].memory_region;
  }
  return model.layers[layer].memory_region;
}

std::string OuterRegion(const SystemModel& model) { return RegionInside(model, 0); }

std::vector<int> OneBased(std::vector<int> layout) {
  for (int& x : layout) ++x;
  return layout;
}

std::vector<int> RowMajor(const Buffer& buffer) {
  std::vector<int> layout(buffer.extents.size());
  std::iota(layout.begin(), layout.end(), 1);
  return layout;
}

// Execution order of a layer's dimensions: with results in registers, reductions come last.
std::vector<int> ExecutionOrder(const Expression& e, const SystemModel& m,
                                const TuningParameters& p, int layer) {
  std::vector<int> order = OrderOfLayer(p.phase, layer);
  if (layer >= InnermostMemoryLayer(m) && p.accumulate_in == AccumulateIn::kRegisters) {
    std::stable_partition(order.begin(), order.end(), [&](int d) { return !e.is_reduction(d); });
  }
  return order;
}

}  // namespace

Result<LowLevelExpression> Lower(const Expression& expression, const SystemModel& model,
                                 const DeviceDescription& device,
                                 const TuningParameters& parameters) {
  MDH_RETURN_IF_ERROR(Validate(expression, model, device, parameters));
  LowLevelExpression low(expression, model, parameters);
  const int innermost_memory = InnermostMemoryLayer(model);
  const bool in_registers = parameters.accumulate_in == AccumulateIn::kRegisters;
  const std::string main_memory = OuterRegion(model);
  const std::string inner_region =
      model.LayerWith(LayerRole::kRegisters) >= 0
          ? model.layers[model.LayerWith(LayerRole::kRegisters)].memory_region
          : model.layers[innermost_memory].memory_region;
  for (int l = 0; l < static_cast<int>(model.layers.size()); ++l) {
    const std::vector<int> order = ExecutionOrder(expression, model, parameters, l);
    for (size_t position = 0; position < order.size(); ++position) {
      const int d = order[position];
      const int64_t outer = l == 0 ? expression.dimensions()[d].size : parameters.tile[l - 1][d];
      const int64_t tile = parameters.tile[l][d];
      LowLevelOperator op{.parts = (outer + tile - 1) / tile,
                          .tile = tile,
                          .level = {l, d},
                          .asm_layer = l,
                          .asm_dimension = static_cast<int>(position),
                          .input_memory = {},
                          .input_layout = {},
                          .output_memory = {},
                          .output_layout = {}};
      for (size_t b = 0; b < expression.inputs().size(); ++b) {
        const InputParameters& input = parameters.inputs[b];
        const bool packed = input.stage_layer == InputParameters::kWholeBuffer ||
                            (input.stage_layer >= 0 && l > input.stage_layer);
        op.input_memory.push_back(packed && input.stage_layer >= 0
                                      ? RegionInside(model, input.stage_layer)
                                      : main_memory);
        op.input_layout.push_back(packed ? OneBased(input.layout)
                                         : RowMajor(expression.inputs()[b]));
      }
      const bool reduces_in_registers =
          l > innermost_memory ||
          (l == innermost_memory && in_registers && expression.is_reduction(d));
      for (const Buffer& output : expression.outputs()) {
        op.output_memory.push_back(reduces_in_registers ? inner_region : main_memory);
        op.output_layout.push_back(RowMajor(output));
      }
      low.operators_.push_back(std::move(op));
    }
  }
  low.scalar_input_memory_.assign(expression.inputs().size(), inner_region);
  low.scalar_output_memory_ = inner_region;
  return low;
}

std::string LowLevelExpression::ToTable() const {
  auto names = [](const std::vector<Buffer>& buffers, const std::string& column) {
    return absl::StrCat(column, " ",
                        absl::StrJoin(buffers, ",", [](std::string* out, const Buffer& b) {
                          out->append(b.name);
                        }));
  };
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"0", "D1", "D2", names(expression_.inputs(), "D3"),
                  names(expression_.inputs(), "D4"), "S1", "S2", names(expression_.inputs(), "S3"),
                  names(expression_.outputs(), "S5"), "R1", "R2",
                  names(expression_.outputs(), "R3"), names(expression_.outputs(), "R4")});
  auto layouts = [](const std::vector<std::vector<int>>& all) {
    return absl::StrJoin(all, " ", [](std::string* out, const std::vector<int>& layout) {
      absl::StrAppend(out, "[", absl::StrJoin(layout, ","), "]");
    });
  };
  for (const LowLevelOperator& op : operators_) {
    const std::string level =
        absl::StrCat("(", op.level.layer + 1, ",", op.level.dimension + 1, ")");
    const std::string where = absl::StrCat(model_.layers[op.asm_layer].name, ",", op.asm_dimension);
    rows.push_back({absl::StrCat(op.parts), level, where, absl::StrJoin(op.input_memory, " "),
                    layouts(op.input_layout), level, where,
                    absl::StrJoin(scalar_input_memory_, " "), scalar_output_memory_, level, where,
                    absl::StrJoin(op.output_memory, " "), layouts(op.output_layout)});
  }
  std::vector<size_t> width(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string dimensions = absl::StrJoin(
      expression_.dimensions(), ", ",
      [](std::string* out, const Dimension& d) { absl::StrAppend(out, d.name, " = ", d.size); });
  std::string table = absl::StrCat("(De/re)-composition of ", expression_.name(), " (", dimensions,
                                   ") for ", model_.name, "\n");
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < rows[r].size(); ++c) {
      // A rule between the phases: after 0, after D4, after S5.
      const char* separator = c == 0 ? "" : c == 1 || c == 5 || c == 9 ? " | " : "  ";
      absl::StrAppend(&line, separator, rows[r][c], std::string(width[c] - rows[r][c].size(), ' '));
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&table, line, "\n");
    if (r == 0) absl::StrAppend(&table, std::string(line.size(), '-'), "\n");
  }
  return table;
}

}  // namespace mdh
