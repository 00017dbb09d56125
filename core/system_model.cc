// Instances of the abstract system model (paper, Example 11).
#include "core/system_model.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

AsmLayer Cores() { return {"COR", LayerRole::kCores, ""}; }
AsmLayer Lanes() { return {"SIMD", LayerRole::kLanes, ""}; }
AsmLayer Memory(std::string name) { return {name, LayerRole::kMemory, name}; }
AsmLayer Registers() { return {"RM", LayerRole::kRegisters, "RM"}; }

bool IsCoreLayer(const AsmLayer& layer) {
  return layer.role == LayerRole::kCores || layer.role == LayerRole::kLanes;
}

std::array<SystemModel, 4> AllModels() {
  return {OpenMpModel(), OpenMpL3Model(), OpenMpL3SimdModel(), OpenMpSimdRegistersModel()};
}

}  // namespace

int SystemModel::num_core_layers() const {
  return static_cast<int>(std::count_if(layers.begin(), layers.end(), IsCoreLayer));
}

int SystemModel::num_memory_layers() const {
  return static_cast<int>(layers.size()) - num_core_layers();
}

int SystemModel::LayerNamed(std::string_view layer_name) const {
  const auto it = std::find_if(layers.begin(), layers.end(),
                               [&](const AsmLayer& layer) { return layer.name == layer_name; });
  return it == layers.end() ? -1 : static_cast<int>(it - layers.begin());
}

int SystemModel::LayerWith(LayerRole role) const {
  const auto it = std::find_if(layers.begin(), layers.end(),
                               [&](const AsmLayer& layer) { return layer.role == role; });
  return it == layers.end() ? -1 : static_cast<int>(it - layers.begin());
}

SystemModel OpenMpModel() {
  return {"OpenMP", {Cores(), Memory("MM"), Memory("L2"), Memory("L1")}};
}

SystemModel OpenMpL3Model() {
  return {"OpenMP+L3", {Cores(), Memory("MM"), Memory("L3"), Memory("L2"), Memory("L1")}};
}

SystemModel OpenMpL3SimdModel() {
  return {"OpenMP+L3+SIMD",
          {Cores(), Memory("MM"), Memory("L3"), Memory("L2"), Memory("L1"), Lanes()}};
}

SystemModel OpenMpSimdRegistersModel() {
  return {"OpenMP+SIMD+RM",
          {Cores(), Memory("MM"), Memory("L2"), Memory("L1"), Registers(), Lanes()}};
}

Result<SystemModel> SystemModelNamed(std::string_view name) {
  const std::array<SystemModel, 4> models = AllModels();
  for (const SystemModel& model : models) {
    if (model.name == name) return model;
  }
  return absl::NotFoundError(
      absl::StrCat("there is no system model '", std::string(name), "'; there are ",
                   absl::StrJoin(models, ", ", [](std::string* out, const SystemModel& model) {
                     absl::StrAppend(out, "'", model.name, "'");
                   })));
}

}  // namespace mdh
