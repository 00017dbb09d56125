#include "core/decomposition/unit_use.h"

#include <gtest/gtest.h>

#include "core/text/parser.h"

namespace mdh::unit_use_test {
namespace {

std::optional<UnitUse> UseOf(const std::string& more, const std::string& type = "bf16",
                             const UnitPeaks& reached = {}) {
  const Expression e =
      *ParseExpression("e<T = " + type +
                       " | I = 256, J = 256, K = 256> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n"
                       "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
                       "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n"
                       "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n");
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.blocks.multiprocessors = 100;
  const Result<TuningParameters> p = ParseTuningParameters(
      ToText(SinglePoints(e, CudaModel(), NumericsPolicy::kReassociate)) + more);
  EXPECT_TRUE(p.ok()) << p.status();
  const Result<LowLevelExpression> low = Lower(e, CudaModel(), device, *p);
  EXPECT_TRUE(low.ok()) << low.status();
  device.clock_hz = 0;
  return UnitUseOf(*low, device, {.clock_hz = 1e9, .units = reached});
}

TEST(UnitUseTest, NamesTheInstructionAndWhatItCanDo) {
  const std::optional<UnitUse> use = UseOf("; unit=128:64:2:4:2; combine=cluster");
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->instruction.name, "wgmma.m64n64k16.bf16");
  EXPECT_EQ(use->flops_per_s, 2.0 * 2048 * 100 * 1e9);
  EXPECT_EQ(use->text,
            "wgmma.m64n64k16.bf16, tiles of 128 x 64 by 2 groups of threads, 4 stages; k in 2 "
            "parts, which a cluster of blocks adds up");
  EXPECT_EQ(UseOf("; unit=64:64:1:3:1; packs=a")->text,
            "wgmma.m64n64k16.bf16, tiles of 64 x 64 by 1 group of threads, 3 stages, packed "
            "operands");
  EXPECT_EQ(UseOf("; unit=128:64:2:3:1; tensor=both; producer=group; cluster_m=2")->text,
            "wgmma.m64n64k16.bf16, tiles of 128 x 64 by 2 groups of threads, 3 stages, tensor "
            "copies by a group for clusters of 2 x 1 blocks");
  EXPECT_EQ(UseOf("; unit=64:64:1:3:1; turns=2")->text,
            "wgmma.m64n64k16.bf16, tiles of 64 x 64 by 1 group of threads, 3 stages, 2 for a "
            "block");
  EXPECT_EQ(
      UseOf("; unit=64:64:1:3:1; tensor=both")->text,
      "wgmma.m64n64k16.bf16, tiles of 64 x 64 by 1 group of threads, 3 stages, tensor copies");
  EXPECT_EQ(UseOf("; unit=64:64:1:3:1; tensor=both; producer=warp")->text,
            "wgmma.m64n64k16.bf16, tiles of 64 x 64 by 1 group of threads, 3 stages, tensor copies "
            "by a warp");
}

TEST(UnitUseTest, ProductsOfPartsShareWhatTheUnitDoes) {
  const std::optional<UnitUse> three =
      UseOf("; unit=64:64:1:3:1; packs=both; numerics=bf16x3", "fp32");
  ASSERT_TRUE(three.has_value());
  EXPECT_EQ(three->flops_per_s, 2.0 * 2048 / 3 * 100 * 1e9);
  EXPECT_EQ(three->text,
            "wgmma.m64n64k16.bf16, tiles of 64 x 64 by 1 group of threads, 3 stages, packed "
            "operands; 3 products of parts for one of fp32");
  const std::optional<UnitUse> tf32 =
      UseOf("; unit=64:64:1:3:1; packs=both; numerics=tf32", "fp32");
  ASSERT_TRUE(tf32.has_value());
  EXPECT_EQ(tf32->instruction.name, "wgmma.m64n64k8.tf32");
  EXPECT_EQ(tf32->flops_per_s, 2.0 * 1024 * 100 * 1e9);
}

TEST(UnitUseTest, WhatWasMeasuredIsTheMost) {
  const UnitPeaks reached = {.half_flops_per_s = 6e14, .tf32_flops_per_s = 3e14};
  EXPECT_EQ(UseOf("; unit=64:64:1:3:1", "bf16", reached)->flops_per_s, 6e14);
  EXPECT_EQ(UseOf("; unit=64:64:1:3:1; packs=both; numerics=bf16x3", "fp32", reached)->flops_per_s,
            2e14);
  EXPECT_EQ(UseOf("; unit=64:64:1:3:1; packs=both; numerics=tf32", "fp32", reached)->flops_per_s,
            3e14);
  // Warps have a slower one here.
  EXPECT_EQ(UseOf("; warps=64:64:2:2:4:1:16:16", "bf16", reached)->flops_per_s,
            2.0 * 1290 * 100 * 1e9);
}

TEST(UnitUseTest, NothingWhereThreadsCompute) { EXPECT_FALSE(UseOf("").has_value()); }

}  // namespace
}  // namespace mdh::unit_use_test
