// Instances of the abstract system model (paper, Example 11).
#include "core/device/system_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

AsmLayer CoreLayer() { return {"COR", LayerRole::kCores, ""}; }
AsmLayer LaneLayer() { return {"SIMD", LayerRole::kLanes, ""}; }
AsmLayer Memory(std::string name) { return {name, LayerRole::kMemory, name}; }
AsmLayer Memory(std::string name, std::string region) {
  return {std::move(name), LayerRole::kMemory, std::move(region)};
}
AsmLayer Registers() { return {"RM", LayerRole::kRegisters, "RM"}; }
AsmLayer Registers(std::string name, std::string region) {
  return {std::move(name), LayerRole::kRegisters, std::move(region)};
}
AsmLayer Blocks(std::string name) { return {std::move(name), LayerRole::kCores, ""}; }
AsmLayer Threads(std::string name) { return {std::move(name), LayerRole::kThreads, ""}; }

// The layers of Figure 20.
std::vector<AsmLayer> CudaLayers() {
  return {Blocks("BLK"), Memory("DEV", "DM"), Threads("THR"), Memory("SHR", "SM"),
          Registers("REG", "RM")};
}

std::vector<std::string> CudaDimensions() { return {"x", "y", "z"}; }

// CudaModel for HIP: blocks are work-groups, warps are waves.
SystemModel HipModel() {
  return {"HIP", CudaLayers(), MemoryKind::kExplicit, CudaDimensions(), DeviceKind::kHip};
}

bool IsCoreLayer(const AsmLayer& layer) { return layer.memory_region.empty(); }

const std::array<SystemModel, 9>& AllModels() {
  static const auto* const models = new std::array<SystemModel, 9>{
      OpenMpModel(), OpenMpL3Model(), OpenMpL3SimdModel(), OpenMpSimdRegistersModel(),
      CudaModel(),   CudaWarpModel(), OpenClModel(),       MultiGpuModel(),
      HipModel()};
  return *models;
}

}  // namespace

std::vector<std::string> SystemModel::memory_regions() const {
  std::vector<std::string> regions;
  for (const AsmLayer& layer : layers) {
    if (!IsCoreLayer(layer)) regions.push_back(layer.memory_region);
  }
  return regions;
}

std::string SystemModel::DimensionName(int dimension) const {
  if (dimension_names.empty()) return absl::StrCat(dimension);
  const int count = static_cast<int>(dimension_names.size());
  if (dimension < count) return dimension_names[dimension];
  return absl::StrCat(dimension_names.back(), dimension - count + 2);
}

int SystemModel::num_core_layers() const {
  return static_cast<int>(std::ranges::count_if(layers, IsCoreLayer));
}

int SystemModel::num_memory_layers() const {
  return static_cast<int>(layers.size()) - num_core_layers();
}

int SystemModel::LayerNamed(std::string_view layer_name) const {
  const auto it = std::ranges::find(layers, layer_name, &AsmLayer::name);
  return it == layers.end() ? -1 : static_cast<int>(it - layers.begin());
}

int SystemModel::LayerWith(LayerRole role) const {
  const auto it = std::ranges::find(layers, role, &AsmLayer::role);
  return it == layers.end() ? -1 : static_cast<int>(it - layers.begin());
}

SystemModel OpenMpModel() {
  return {"OpenMP", {CoreLayer(), Memory("MM"), Memory("L2"), Memory("L1")}};
}

SystemModel OpenMpL3Model() {
  return {"OpenMP+L3", {CoreLayer(), Memory("MM"), Memory("L3"), Memory("L2"), Memory("L1")}};
}

SystemModel OpenMpL3SimdModel() {
  return {"OpenMP+L3+SIMD",
          {CoreLayer(), Memory("MM"), Memory("L3"), Memory("L2"), Memory("L1"), LaneLayer()}};
}

SystemModel OpenMpSimdRegistersModel() {
  return {"OpenMP+SIMD+RM",
          {CoreLayer(), Memory("MM"), Memory("L2"), Memory("L1"), Registers(), LaneLayer()}};
}

SystemModel CudaModel() {
  return {"CUDA", CudaLayers(), MemoryKind::kExplicit, CudaDimensions(), DeviceKind::kCuda};
}

SystemModel CudaWarpModel() {
  return {"CUDA+WRP",
          {Blocks("BLK"),
           Memory("DEV", "DM"),
           {"WRP", LayerRole::kWarps, ""},
           Memory("SHR", "SM"),
           Threads("THR"),
           Registers("REG", "RM")},
          MemoryKind::kExplicit,
          CudaDimensions(),
          DeviceKind::kCuda};
}

SystemModel OpenClModel() {
  return {"OpenCL",
          {Blocks("WG"), Memory("GLB", "GM"), Threads("WI"), Memory("LCL", "LM"),
           Registers("PRV", "PM")},
          MemoryKind::kExplicit,
          {},
          DeviceKind::kOpenCl};
}

SystemModel MultiGpuModel() {
  std::vector<AsmLayer> layers = {{"GPU", LayerRole::kDevices, ""}, Memory("HST", "HM")};
  for (AsmLayer& layer : CudaLayers()) layers.push_back(std::move(layer));
  return {"Multi-GPU", std::move(layers), MemoryKind::kExplicit, CudaDimensions(),
          DeviceKind::kCuda};
}

SystemModel TuningModel(DeviceKind kind) {
  const absl::string_view name = BackendOf(kind).system_model;
  return *SystemModelNamed({name.data(), name.size()});
}

const SystemModel* FindSystemModel(std::string_view name) {
  for (const SystemModel& model : AllModels()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

Result<SystemModel> SystemModelNamed(std::string_view name) {
  if (const SystemModel* model = FindSystemModel(name)) return *model;
  return NotFound("there is no system model '", std::string(name), "'; there are ",
                  absl::StrJoin(AllModels(), ", ", [](std::string* out, const SystemModel& model) {
                    absl::StrAppend(out, "'", model.name, "'");
                  }));
}

}  // namespace mdh
