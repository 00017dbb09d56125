// What tests of lowering share: the matrix product of Figures 20-23 and devices for every model.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/text/parser.h"

namespace mdh {

inline Expression MatMul(int64_t i, int64_t j, int64_t k) {
  return *ParseExpression(absl::StrCat("matmul := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<",
                                       i, ",", j, ",", k,
                                       ">( f, (++, ++, +) ) o inp_view<fp32,fp32>( "
                                       "A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) "
                                       "where f(a, b) -> c { c = a * b }"));
}

// A device that models of the kind are for.
inline DeviceDescription DeviceFor(const SystemModel& model) {
  if (model.kind == DeviceKind::kCpu) return {};
  DeviceDescription device = *DescribeCudaArchitecture(80);
  device.kind = model.kind;
  if (device.kind == DeviceKind::kOpenCl) {  // a CPU
    device.blocks.warp_size = 1;
    device.blocks.registers_per_thread = 0;
    device.blocks.registers_per_block = 0;
  }
  device.features = FeaturesOf(device);
  return device;
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace mdh
