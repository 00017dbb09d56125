// Lower: inserts tuning parameters into the generic low-level expression (paper, Figure 19).
#include "core/decomposition/low_level_expression.h"

#include <algorithm>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

int InnermostRegion(const SystemModel& model) { return model.num_memory_layers() - 1; }

// Rows by MDH level, with parts and tiles; the rest is up to the kind of configuration.
std::vector<LowLevelOperator> Rows(const Expression& e, const TuningParameters& p) {
  std::vector<LowLevelOperator> rows;
  for (int l = 0; l < static_cast<int>(p.tile.size()); ++l) {
    for (int d = 0; d < e.rank(); ++d) {
      const int64_t outer = l == 0 ? e.dimensions()[d].size : p.tile[l - 1][d];
      const int64_t tile = p.tile[l][d];
      rows.push_back({.level = {l, d},
                      .parts = CeilDivide(outer, tile),
                      .tile = tile,
                      .position = {0, 0, 0},
                      .assigned = {{l, d}, {l, d}, {l, d}},
                      .input_region = {},
                      .input_layout = {},
                      .output_region = {},
                      .output_layout = {}});
    }
  }
  return rows;
}

// Places and assignments of one phase.
void SetPhase(const PhaseParameters& phase, PhaseKind kind, int rank,
              std::vector<LowLevelOperator>* rows) {
  const int k = static_cast<int>(kind);
  std::vector<int> dimensions_seen(rows->size() / rank, 0);
  for (int n = 0; n < static_cast<int>(phase.order.size()); ++n) {
    const auto [layer, dimension] = phase.order[n];
    LowLevelOperator& row = (*rows)[layer * rank + dimension];
    row.position[k] = n;
    const AsmLevel as_ordered = {layer, dimensions_seen[layer]++};
    row.assigned[k] = phase.assignment.empty() ? as_ordered : phase.assignment[layer][dimension];
  }
}

// ---- Register tiles ----

// The region that a part of `layer` is meant to stay in: that of the next memory layer inside.
int RegionInside(const SystemModel& model, int layer) {
  int region = 0;
  for (int l = 0; l <= layer; ++l) region += model.layers[l].memory_region.empty() ? 0 : 1;
  return std::min(region, InnermostRegion(model));
}

// The order in which register tiles are executed: with results in registers, reductions come last.
PhaseParameters ExecutionOrder(const Expression& e, const SystemModel& m,
                               const TuningParameters& p) {
  PhaseParameters phase = p.phase;
  for (int l = 0; l < static_cast<int>(m.layers.size()); ++l) {
    std::vector<int> order = OrderOfLayer(phase, l);
    if (l >= InnermostMemoryLayer(m) && p.accumulate_in == AccumulateIn::kRegisters) {
      std::stable_partition(order.begin(), order.end(), [&](int d) { return !e.is_reduction(d); });
    }
    SetOrderOfLayer(phase, l, order);
  }
  return phase;
}

void SetRegisterTiles(const Expression& e, const SystemModel& m, const TuningParameters& p,
                      std::vector<LowLevelOperator>* rows) {
  const PhaseParameters phase = ExecutionOrder(e, m, p);
  for (const PhaseKind kind :
       {PhaseKind::kDecomposition, PhaseKind::kScalar, PhaseKind::kRecomposition}) {
    SetPhase(phase, kind, e.rank(), rows);
  }
  const int innermost = InnermostMemoryLayer(m);
  for (LowLevelOperator& row : *rows) {
    const auto [l, d] = row.level;
    for (size_t b = 0; b < e.inputs().size(); ++b) {
      const InputParameters& input = p.inputs[b];
      const bool is_tile = input.stage_layer >= 0 && l > input.stage_layer;
      const bool is_packed = is_tile || input.stage_layer == InputParameters::kWholeBuffer;
      row.input_region.push_back(is_tile ? RegionInside(m, input.stage_layer) : 0);
      row.input_layout.push_back(is_packed ? input.layout : RowMajor(e.inputs()[b]));
    }
    const bool in_registers =
        l > innermost ||
        (l == innermost && p.accumulate_in == AccumulateIn::kRegisters && e.is_reduction(d));
    for (const Buffer& output : e.outputs()) {
      row.output_region.push_back(in_registers ? InnermostRegion(m) : 0);
      row.output_layout.push_back(RowMajor(output));
    }
  }
}

// ---- Level by level ----

std::vector<int> LayoutOf(const MemoryParameters& memory, MdhLevel level, const Buffer& buffer) {
  return memory.layouts.empty() ? RowMajor(buffer) : memory.layouts[level.layer][level.dimension];
}

void SetLevels(const Expression& e, const TuningParameters& p,
               std::vector<LowLevelOperator>* rows) {
  SetPhase(p.phase, PhaseKind::kDecomposition, e.rank(), rows);
  SetPhase(p.scalar_phase.value_or(p.phase), PhaseKind::kScalar, e.rank(), rows);
  SetPhase(p.recomposition_phase.value_or(p.phase), PhaseKind::kRecomposition, e.rank(), rows);
  for (LowLevelOperator& row : *rows) {
    const auto [l, d] = row.level;
    for (size_t b = 0; b < e.inputs().size(); ++b) {
      const MemoryParameters& memory = p.inputs[b].memory;
      row.input_region.push_back(memory.regions.empty() ? 0 : memory.regions[l][d]);
      row.input_layout.push_back(LayoutOf(memory, row.level, e.inputs()[b]));
    }
    for (size_t b = 0; b < e.outputs().size(); ++b) {
      const MemoryParameters memory = p.outputs.empty() ? MemoryParameters{} : p.outputs[b];
      row.output_region.push_back(memory.regions.empty() ? 0 : memory.regions[l][d]);
      row.output_layout.push_back(LayoutOf(memory, row.level, e.outputs()[b]));
    }
  }
}

std::vector<ScalarMemory> ScalarOrDefault(const std::vector<ScalarMemory>& given,
                                          const std::vector<Buffer>& buffers,
                                          const SystemModel& model) {
  if (!given.empty()) return given;
  std::vector<ScalarMemory> memory;
  for (const Buffer& buffer : buffers) {
    memory.push_back({InnermostRegion(model), RowMajor(buffer)});
  }
  return memory;
}

}  // namespace

LowLevelExpression LowLevelExpression::Insert(std::shared_ptr<Parts> parts) {
  const Expression& e = parts->expression;
  const SystemModel& model = parts->model;
  const TuningParameters& p = parts->parameters;
  parts->operators = Rows(e, p);
  if (p.lowering == Lowering::kTiles) {
    SetRegisterTiles(e, model, p, &parts->operators);
  } else {
    SetLevels(e, p, &parts->operators);
  }
  parts->scalar_inputs = ScalarOrDefault(p.scalar_inputs, e.inputs(), model);
  parts->scalar_outputs = ScalarOrDefault(p.scalar_outputs, e.outputs(), model);
  return LowLevelExpression(std::move(parts));
}

Result<LowLevelExpression> Lower(const Expression& expression, const SystemModel& model,
                                 const DeviceDescription& device,
                                 const TuningParameters& parameters) {
  MDH_RETURN_IF_ERROR(ValidateDevice(device));
  MDH_ASSIGN_OR_RETURN(Expression divided, DividedExpression(expression, parameters));
  const auto parts = std::make_shared<LowLevelExpression::Parts>(
      LowLevelExpression::Parts{std::move(divided), model, parameters});
  MDH_ASSIGN_OR_RETURN(parts->shape,
                       ValidateUnfused(parts->expression, parts->model, device, parts->parameters));
  LowLevelExpression low = LowLevelExpression::Insert(parts);
  if (expression.is_empty()) {
    parts->expression = expression;
  } else if (!parameters.fused.empty()) {
    parts->given = expression;
  }
  return low;
}

LowLevelExpression LowerUnchecked(const Expression& expression, const SystemModel& model,
                                  const TuningParameters& parameters) {
  const auto parts = std::make_shared<LowLevelExpression::Parts>(
      LowLevelExpression::Parts{expression, model, parameters});
  parts->shape.emplace(parts->expression, parts->model, parts->parameters);
  return LowLevelExpression::Insert(parts);
}

const LowLevelOperator& LowLevelExpression::at(MdhLevel level) const {
  return operators()[level.layer * expression().rank() + level.dimension];
}

std::vector<MdhLevel> LowLevelExpression::Order(PhaseKind phase) const {
  std::vector<MdhLevel> order(operators().size());
  for (const LowLevelOperator& row : operators()) {
    order[row.position[static_cast<int>(phase)]] = row.level;
  }
  return order;
}

bool LowLevelExpression::is_fused() const {
  return std::ranges::all_of(operators(), [](const LowLevelOperator& row) {
    return row.position[0] == row.position[1] && row.position[0] == row.position[2] &&
           row.assigned[0] == row.assigned[1] && row.assigned[0] == row.assigned[2];
  });
}

}  // namespace mdh
