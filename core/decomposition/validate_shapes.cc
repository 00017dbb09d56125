// The algorithmic constraints of Table 1 that concern tables and permutations: every function of
// MDH levels is defined on all of them, orders and assignments are bijections.
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

std::string AsmLevelText(AsmLevel level) { return LevelText({level.layer, level.dimension}); }

class Shapes {
 public:
  Shapes(const Expression& e, const SystemModel& m, const TuningParameters& p)
      : e_(e),
        m_(m),
        p_(p),
        layers_(static_cast<int>(m.layers.size())),
        regions_(m.num_memory_layers()) {}

  Status Run() const {
    using Kind = ParameterPlace::Kind;
    MDH_RETURN_IF_ERROR(AtParameter(Table("tile (0)", p_.tile), {.kind = Kind::kTile}));
    MDH_RETURN_IF_ERROR(AtParameter(Phases(), {.kind = Kind::kOrder}));
    MDH_RETURN_IF_ERROR(Inputs());
    MDH_RETURN_IF_ERROR(Outputs());
    MDH_RETURN_IF_ERROR(Scalars(p_.scalar_inputs, e_.inputs(), "scalar inputs (S3, S4)", "S4"));
    return Scalars(p_.scalar_outputs, e_.outputs(), "scalar outputs (S5, S6)", "S6");
  }

 private:
  Status Phases() const {
    MDH_RETURN_IF_ERROR(Phase(p_.phase, "D1", "D2"));
    if (p_.scalar_phase) MDH_RETURN_IF_ERROR(Phase(*p_.scalar_phase, "S1", "S2"));
    if (!p_.recomposition_phase) return absl::OkStatus();
    return Phase(*p_.recomposition_phase, "R1", "R2");
  }

  template <typename T>
  Status Table(const std::string& name, const LevelTable<T>& table) const {
    if (static_cast<int>(table.size()) != layers_) {
      return InvalidParameters(name, ": ", table.size(), " layers, model ", m_.name, " has ",
                               layers_);
    }
    for (int l = 0; l < layers_; ++l) {
      if (static_cast<int>(table[l].size()) == e_.rank()) continue;
      return InvalidParameters(name, ": layer ", m_.layers[l].name, " has ", table[l].size(),
                               " values, the expression has ", e_.rank(), " dimensions");
    }
    return absl::OkStatus();
  }

  bool IsLevel(int layer, int dimension) const {
    return layer >= 0 && layer < layers_ && dimension >= 0 && dimension < e_.rank();
  }

  Status Phase(const PhaseParameters& phase, const std::string& d1, const std::string& d2) const {
    if (static_cast<int>(phase.order.size()) != layers_ * e_.rank()) {
      return InvalidParameters("order (", d1, "): ", phase.order.size(), " levels, there are ",
                               layers_ * e_.rank());
    }
    std::set<MdhLevel> seen;
    for (const MdhLevel& level : phase.order) {
      if (!IsLevel(level.layer, level.dimension)) {
        return InvalidParameters("order (", d1, "): level ", LevelText(level),
                                 " is beyond the last one, ",
                                 LevelText({layers_ - 1, e_.rank() - 1}));
      }
      if (!seen.insert(level).second) {
        return InvalidParameters("order (", d1, "): level ", LevelText(level),
                                 " comes twice, it is no permutation");
      }
    }
    return phase.assignment.empty() ? absl::OkStatus() : Assignment(phase.assignment, d2);
  }

  Status Assignment(const LevelTable<AsmLevel>& assignment, const std::string& d2) const {
    MDH_RETURN_IF_ERROR(Table(absl::StrCat("assignment (", d2, ")"), assignment));
    std::map<AsmLevel, MdhLevel> assigned;
    for (int l = 0; l < layers_; ++l) {
      for (int d = 0; d < e_.rank(); ++d) {
        const AsmLevel to = assignment[l][d];
        if (!IsLevel(to.layer, to.dimension)) {
          return InvalidParameters("assignment (", d2, "): ASM level ", AsmLevelText(to),
                                   " is beyond the last one, ",
                                   LevelText({layers_ - 1, e_.rank() - 1}));
        }
        const auto [it, is_new] = assigned.emplace(to, MdhLevel{l, d});
        if (is_new) continue;
        return InvalidParameters("assignment (", d2, "): levels ", LevelText(it->second), " and ",
                                 LevelText({l, d}), " are both assigned to ", AsmLevelText(to),
                                 ", it is no bijection");
      }
    }
    return absl::OkStatus();
  }

  Status Region(int region, const std::string& name) const {
    if (region >= 0 && region < regions_) return absl::OkStatus();
    return InvalidParameters(name, ": region ", region, ", model ", m_.name, " has 0..",
                             regions_ - 1);
  }

  Status Layout(const std::vector<int>& layout, const Buffer& buffer,
                const std::string& name) const {
    if (IsPermutation(layout, buffer.extents.size())) return absl::OkStatus();
    return InvalidParameters(name, ": [", absl::StrJoin(layout, ","),
                             "] is no permutation of the buffer's ", buffer.extents.size(),
                             " dimensions");
  }

  // D3 and D4, or R3 and R4: `place` is of the buffer, layouts are one word of it.
  Status Memory(const MemoryParameters& memory, const Buffer& buffer, const std::string& regions,
                const std::string& layouts, const ParameterPlace& place) const {
    const std::string region_name =
        absl::StrCat("memory regions of ", buffer.name, " (", regions, ")");
    const std::string layout_name = absl::StrCat("layouts of ", buffer.name, " (", layouts, ")");
    if (!memory.regions.empty()) {
      MDH_RETURN_IF_ERROR(Table(region_name, memory.regions));
      for (const std::vector<int>& row : memory.regions) {
        for (const int region : row) MDH_RETURN_IF_ERROR(Region(region, region_name));
      }
    }
    ParameterPlace of_layouts = place;
    of_layouts.choice = "layout";
    return AtParameter(Layouts(memory, buffer, layout_name), of_layouts);
  }

  Status Layouts(const MemoryParameters& memory, const Buffer& buffer,
                 const std::string& name) const {
    if (memory.layouts.empty()) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(Table(name, memory.layouts));
    for (const std::vector<std::vector<int>>& row : memory.layouts) {
      for (const std::vector<int>& layout : row) MDH_RETURN_IF_ERROR(Layout(layout, buffer, name));
    }
    return absl::OkStatus();
  }

  Status Inputs() const {
    if (p_.inputs.size() != e_.inputs().size()) {
      return InvalidParameters("there are ", e_.inputs().size(), " inputs, parameters for ",
                               p_.inputs.size());
    }
    for (int b = 0; b < std::ssize(p_.inputs); ++b) {
      MDH_RETURN_IF_ERROR(
          AtParameter(Input(b), {.kind = ParameterPlace::Kind::kInput, .buffer = b}));
    }
    return absl::OkStatus();
  }

  Status Input(int b) const {
    if (p_.lowering == Lowering::kLevels && p_.inputs[b].stage_layer != InputParameters::kInPlace) {
      return InvalidParameters("input ", e_.inputs()[b].name, " is packed at layer ",
                               p_.inputs[b].stage_layer,
                               ", which is for register tiles; level by level, D3 says what is "
                               "copied");
    }
    return Memory(p_.inputs[b].memory, e_.inputs()[b], "D3", "D4",
                  {.kind = ParameterPlace::Kind::kInput, .buffer = b});
  }

  Status Outputs() const {
    if (!p_.outputs.empty() && p_.outputs.size() != e_.outputs().size()) {
      return InvalidParameters("there are ", e_.outputs().size(), " outputs, parameters for ",
                               p_.outputs.size());
    }
    for (int b = 0; b < std::ssize(p_.outputs); ++b) {
      const ParameterPlace place = {.kind = ParameterPlace::Kind::kOutput, .buffer = b};
      MDH_RETURN_IF_ERROR(
          AtParameter(Memory(p_.outputs[b], e_.outputs()[b], "R3", "R4", place), place));
    }
    return absl::OkStatus();
  }

  Status Scalars(const std::vector<ScalarMemory>& memory, const std::vector<Buffer>& buffers,
                 const std::string& name, const std::string& layout) const {
    if (memory.empty()) return absl::OkStatus();
    if (memory.size() != buffers.size()) {
      return InvalidParameters(name, ": ", memory.size(), " buffers, the expression has ",
                               buffers.size());
    }
    for (size_t b = 0; b < memory.size(); ++b) {
      MDH_RETURN_IF_ERROR(Region(memory[b].region, name));
      MDH_RETURN_IF_ERROR(Layout(memory[b].layout, buffers[b],
                                 absl::StrCat("layout of ", buffers[b].name, " (", layout, ")")));
    }
    return absl::OkStatus();
  }

  const Expression& e_;
  const SystemModel& m_;
  const TuningParameters& p_;
  const int layers_;
  const int regions_;
};

}  // namespace

Status ValidateShapes(const Expression& expression, const SystemModel& model,
                      const TuningParameters& parameters) {
  return Shapes(expression, model, parameters).Run();
}

}  // namespace mdh
