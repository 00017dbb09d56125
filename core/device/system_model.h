// The abstract system model (paper, Definition 11): named memory and core layers of a device.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_description.h"

namespace mdh {

// How a layer's parts are processed in generated code (paper, Section 3.1 and parameter 0).
enum class LayerRole : uint8_t {
  kCores,      // core layer: the parts are independent of each other: threads of OpenMP, blocks of
               // CUDA (SMX), work-groups of OpenCL (CU)
  kLanes,      // core layer: parts run in parallel on SIMD lanes
  kMemory,     // memory layer: parts run one after another, in a loop
  kRegisters,  // memory layer: parts run one after another, fully unrolled
  kDevices,    // core layer: devices of a system, each with memory of its own
  kWarps,      // core layer: groups of a block's threads that can shuffle registers
  kThreads,    // core layer: threads of a block or warp (CC), work-items of a work-group (PE)
};

struct AsmLayer {
  std::string name;  // "COR", "L2", ...: as in the tables of Figures 20-23
  LayerRole role;
  std::string memory_region;  // of memory layers: "MM", "L2"; empty for core layers
};

// Who copies data between memory regions.
enum class MemoryKind : uint8_t {
  kCaches,    // the hardware: regions below the outermost one say what is intended
  kExplicit,  // generated code: device, shared and register memory
};

// An instance of the model. `layers` is ordered as MDH layers are nested in generated code,
// outermost first (Figure 23: COR, MM, L2, L1).
struct SystemModel {
  std::string name;
  std::vector<AsmLayer> layers;
  MemoryKind memory = MemoryKind::kCaches;
  // How ASM dimensions print: "x", "y", "z", further ones "z2", ...; empty: "0", "1", ...
  std::vector<std::string> dimension_names = {};
  DeviceKind kind = DeviceKind::kCpu;  // of the devices that kernels for the model run on

  // The regions of the memory layers, outermost first: MR of Table 1 (zero-based).
  std::vector<std::string> memory_regions() const;
  std::string DimensionName(int dimension) const;

  int num_memory_layers() const;  // NUM_MEM_LYRS
  int num_core_layers() const;    // NUM_COR_LYRS
  // Index of the layer with that name or role, -1 if there is none.
  int LayerNamed(std::string_view layer_name) const;
  int LayerWith(LayerRole role) const;
};

// Example 11, (3, 1): COR, MM, L2, L1.
SystemModel OpenMpModel();
// Example 11, (4, 1): COR, MM, L3, L2, L1.
SystemModel OpenMpL3Model();
// Example 11, (4, 2): COR, MM, L3, L2, L1, SIMD.
SystemModel OpenMpL3SimdModel();
// (4, 2): COR, MM, L2, L1, RM, SIMD. The registers are a layer of their own, because keeping a tile
// of results in them is what makes CPU code fast; the default for tuning.
SystemModel OpenMpSimdRegistersModel();

// Example 11, (3, 2): BLK, DEV, THR, SHR, REG with the regions DM, SM, RM: as in Figure 20.
SystemModel CudaModel();
// Example 11, (3, 3): BLK, DEV, WRP, SHR, THR, REG.
SystemModel CudaWarpModel();
// Example 11, (3, 2): WG, GLB, WI, LCL, PRV with the regions GM, LM, PM: as in Figure 21.
SystemModel OpenClModel();
// Section 3.2, (4, 3): GPU, HST, BLK, DEV, THR, SHR, REG with the regions HM, DM, SM, RM.
SystemModel MultiGpuModel();

// The model that kernels are tuned in for devices of that kind.
SystemModel TuningModel(DeviceKind kind);

// The model of that name; nullptr if there is none.
const SystemModel* FindSystemModel(std::string_view name);
// The same. Errors: NotFound, naming those that exist.
Result<SystemModel> SystemModelNamed(std::string_view name);

}  // namespace mdh
