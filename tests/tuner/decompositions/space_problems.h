// Expressions, models and devices that tests and the benchmark of spaces go over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/text/parser.h"
#include "tests/definition_header.h"

namespace mdh {

struct SpaceBackend {
  std::string name;
  SystemModel model;
  DeviceDescription device;
};

inline DeviceDescription CpuForSpaces() {
  DeviceDescription cpu;
  cpu.name = "CPU with 256-bit vectors";
  cpu.cores = 8;
  cpu.simd_bytes = 32;
  cpu.l3_bytes = 32 << 20;
  cpu.compiler = "gcc, clang";
  return cpu;
}

// A GPU under OpenCL, or a CPU, which has neither warps nor a limit of registers.
inline DeviceDescription OpenClForSpaces(bool is_gpu) {
  DeviceDescription device = *DescribeCudaArchitecture(80);
  device.kind = DeviceKind::kOpenCl;
  if (!is_gpu) {
    device.blocks.warp_size = 1;
    device.blocks.registers_per_thread = 0;
    device.blocks.registers_per_block = 0;
  }
  device.features = FeaturesOf(device);
  return device;
}

// One backend per kind of space.
inline std::vector<SpaceBackend> SpaceBackends() {
  return {{"OpenMP", OpenMpSimdRegistersModel(), CpuForSpaces()},
          {"OpenMP_SIMD", OpenMpL3SimdModel(), CpuForSpaces()},
          {"OpenMP_levels", OpenMpModel(), CpuForSpaces()},
          {"OpenCL", OpenClModel(), OpenClForSpaces(true)},
          {"OpenCL_CPU", OpenClModel(), OpenClForSpaces(false)},
          {"CUDA", CudaModel(), *DescribeCudaArchitecture(90)},
          {"CUDA_warps", CudaWarpModel(), *DescribeCudaArchitecture(80)}};
}

// Names of the expressions in client/expressions of a source tree.
inline std::vector<std::string> ShippedExpressionNames(const std::string& source_directory) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_directory + "/client/expressions")) {
    if (entry.path().extension() == ".mdh") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A shipped expression. Sizes: the defaults, as far as they are at most `largest_size`. Errors:
// those of ParseHeader and ParseExpression.
inline Result<Expression> ShippedExpression(const std::string& source_directory,
                                            const std::string& name,
                                            int64_t largest_size = INT64_MAX) {
  const std::string path = source_directory + "/client/expressions/" + name + ".mdh";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  MDH_ASSIGN_OR_RETURN(const DefinitionHeader header, ParseHeader(text.str()));
  Bindings sizes;
  for (const ParameterDeclaration& parameter : header.parameters) {
    const std::string& value = parameter.default_value;
    const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
    if (parameter.is_type || value.empty() || !is_number) continue;
    sizes[parameter.name] = absl::StrCat(std::min<int64_t>(std::stoll(value), largest_size));
  }
  return ParseExpression(text.str(), sizes, path);
}

}  // namespace mdh
