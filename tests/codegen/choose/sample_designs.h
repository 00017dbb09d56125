// Designs that several tests look at, and what they are for.
#pragma once

#include "codegen/choose/block_design.h"
#include "core/device/device_description.h"
#include "tests/shipped_expression.h"

namespace mdh {

inline DeviceDescription Gpu() { return *DescribeCudaArchitecture(90); }

inline DeviceDescription GpuUnder(DeviceKind kind) {
  DeviceDescription device = Gpu();
  device.kind = kind;
  device.features = FeaturesOf(device);
  return device;
}

inline Expression MatMul() {
  return Shipped("matmul.mdh", {{"I", "256"}, {"J", "256"}, {"K", "256"}});
}

// Blocks of 64 x 64 results, 4 x 8 of them per thread, 16 points of the reduction at a time, which
// two groups of threads share.
inline BlockDesign Tiled() {
  BlockDesign design;
  design.cuts = {{.threads = 16, .vector = 4},
                 {.threads = 8, .vector = 4, .strided = 2},
                 {.threads = 2, .vector = 8}};
  design.copies = {BlockDesign::Copy::kChunk, BlockDesign::Copy::kChunk};
  design.lane_dimension = 1;
  design.unrolled = 1;
  return design;
}

// 16 blocks share the reduction, and 4 groups of threads in each.
inline BlockDesign Skinny() {
  BlockDesign design;
  design.cuts = {{.vector = 16}, {.threads = 32, .vector = 4}, {.threads = 4, .vector = 8}};
  design.cuts[2].blocks = 16;
  design.copies = {BlockDesign::Copy::kNone, BlockDesign::Copy::kNone};
  design.lane_dimension = 1;
  design.combine_blocks = CombineBlocks::kAtomics;
  return design;
}

inline Expression SkinnyMatMul() {
  return Shipped("matmul.mdh", {{"I", "16"}, {"J", "1000"}, {"K", "2048"}});
}

}  // namespace mdh
