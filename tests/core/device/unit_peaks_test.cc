// Which instructions stand for all of their types, and what their peaks say of others.
#include "core/device/unit_peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mdh::unit_peaks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(const DeviceDescription& device) {
  std::vector<std::string> names;
  for (const MatrixInstruction& one : FastestInstructions(device)) names.push_back(one.name);
  return names;
}

TEST(UnitPeaksTest, TheFastestOfEachType) {
  EXPECT_THAT(Names(*DescribeCudaArchitecture(90)),
              ElementsAre("wgmma.m64n256k16.f16", "wgmma.m64n256k8.tf32", "wgmma.m64n256k32.s8",
                          "wgmma.m64n256k32.e4m3", "mma.m16n8k16.f64"));
  EXPECT_THAT(
      Names(*DescribeCudaArchitecture(80)),
      ElementsAre("mma.m16n8k16.f16", "mma.m16n8k8.tf32", "mma.m16n8k32.s8", "mma.m8n8k4.f64"));
  DeviceDescription without_groups = *DescribeCudaArchitecture(90);
  without_groups.features.group_units = false;
  EXPECT_EQ(Names(without_groups)[0], "mma.m16n8k16.f16");
  DeviceDescription cpu;
  cpu.isa = "x86-64 avx512_bf16";
  EXPECT_THAT(Names(cpu), IsEmpty());
}

TEST(UnitPeaksTest, OtherTypesOfTheSameUnitHaveItsPeak) {
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  const UnitPeaks peaks = {.half_flops_per_s = 1,
                           .tf32_flops_per_s = 2,
                           .fp8_flops_per_s = 3,
                           .int8_ops_per_s = 4,
                           .fp64_flops_per_s = 5};
  const auto reached_by = [&](ScalarType a, ScalarType b) {
    return ReachedBy(*GroupInstruction(a, b, 64), device, peaks);
  };
  const auto reached = [&](ScalarType type) { return reached_by(type, type); };
  EXPECT_EQ(reached(ScalarType::kBfloat16), 1);
  EXPECT_EQ(reached(ScalarType::kFloat32), 2);
  EXPECT_EQ(reached(ScalarType::kFloat8E5m2), 3);
  EXPECT_EQ(reached(ScalarType::kUint8), 4);
  EXPECT_EQ(reached_by(ScalarType::kUint8, ScalarType::kInt8), 4);
  EXPECT_EQ(reached_by(ScalarType::kFloat8E5m2, ScalarType::kFloat8E4m3), 3);
  for (const MatrixInstruction& row : MatrixInstructions()) {
    if (row.name == "mma.m16n8k16.f16") {
      EXPECT_EQ(ReachedBy(row, device, peaks), 0);
    }
    if (row.name == "mma.m16n8k4.f64") {
      EXPECT_EQ(ReachedBy(row, device, peaks), 5);
    }
  }
}

TEST(UnitPeaksTest, ClocksAreNotSlowerThanWhatWasReached) {
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  EXPECT_EQ(ClockOfUnits(device, {}), 0);
  EXPECT_EQ(ClockOfUnits(device, {.tf32_flops_per_s = 2.0 * 1024 * 132 * 1.5e9,
                                  .fp64_flops_per_s = 2.0 * 128 * 132 * 1.2e9}),
            1.5e9);
}

}  // namespace
}  // namespace mdh::unit_peaks_test
