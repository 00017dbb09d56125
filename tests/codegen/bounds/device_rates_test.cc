#include "codegen/bounds/device_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mdh::device_rates_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeviceDescription Host(const std::string& isa) {
  DeviceDescription device;
  device.name = "a CPU";
  device.cores = 2;
  device.isa = isa;
  device.clock_hz = 2e9;
  return device;
}

TEST(DeviceRates, OfAGpuFollowFromItsArchitecture) {
  DeviceDescription h100 = *DescribeCudaArchitecture(90);
  h100.limits = {.clock_hz = 1.98e9, .memory_bytes_per_s = 3.352e12};
  const DeviceRates rates = RatesOf(h100, {.launch_overhead_ns = 1000});
  EXPECT_EQ(rates.ToText(),
            "bound version: 10\narchitecture: cuda sm_90\ncores: 132\n"
            "cycles per second: 1980000000\n"
            "fp16 per cycle and core: 256 multiplications, 256 additions, 256 in all\n"
            "fp32 per cycle and core: 128 multiplications, 128 additions, 128 in all\n"
            "fp64 per cycle and core: 64 multiplications, 64 additions, 128 in all\n"
            "special functions per cycle and core: 16\nbytes of memory per second: 3352000000000\n"
            "bytes of caches: 52428800\nlaunch in ns: 950\n"
            "launch assumed: no call takes less than an empty one that waits for the one before "
            "it\n");
  EXPECT_EQ(rates.Digest().size(), 64);
}

TEST(DeviceRates, AreNeverBelowWhatWasReached) {
  DeviceDescription h100 = *DescribeCudaArchitecture(90);
  h100.limits = {.clock_hz = 1.98e9, .memory_bytes_per_s = 3.352e12};
  const DeviceRates specified = RatesOf(h100, {});
  const DeviceRates same = RatesOf(
      h100, {.fp32_flops_per_s = 6e13, .memory_bytes_per_s = 3e12, .copy_bytes_per_s = 3e12});
  EXPECT_EQ(same.ToText(), specified.ToText());
  const DeviceRates raised = RatesOf(h100, {.fp32_flops_per_s = 8e13, .copy_bytes_per_s = 4e12});
  EXPECT_DOUBLE_EQ(2 * 128 * 132 * raised.clock_hz, 1.02 * 8e13);
  EXPECT_EQ(raised.memory_bytes_per_s, 1.02 * 4e12);
  EXPECT_NE(raised.Digest(), specified.Digest());
  const DeviceRates by_units = RatesOf(h100, {.units = {.fp8_flops_per_s = 3e15}});
  EXPECT_DOUBLE_EQ(2.0 * 4096 * 132 * by_units.clock_hz, 1.02 * 3e15);
  const DeviceRates unchanged = RatesOf(h100, {.units = {.half_flops_per_s = 9.5e14,
                                                         .tf32_flops_per_s = 4.7e14,
                                                         .fp64_flops_per_s = 6e13}});
  EXPECT_EQ(unchanged.ToText(), specified.ToText());
}

TEST(DeviceRates, OfHostsThatAreNotKnownAreAssumed) {
  const DeviceRates rates =
      RatesOf(Host("x86-64 avx2 fma"), {.memory_bytes_per_s = 1e10, .clock_hz = 3e9});
  EXPECT_EQ(rates.of(RealKind::kSingle), (ArithmeticRate{16, 32, 32}));
  EXPECT_EQ(rates.clock_hz, 1.02 * 3e9);
  EXPECT_EQ(rates.memory_bytes_per_s, 1.02e10);
  EXPECT_LT(rates.cache_bytes, 0) << "other guests' caches are not known";
  EXPECT_EQ(rates.launch_ns, 0);
  EXPECT_THAT(rates.ToText(), HasSubstr("clock assumed: no core is clocked above 3.06 GHz\n"));
  EXPECT_THAT(rates.ToText(), HasSubstr("memory assumed: memory moves no more than was measured"));
  EXPECT_THAT(rates.ToText(), HasSubstr("elements put into vectors: 2\n"));
  EXPECT_EQ(RatesOf(Host("aarch64 neon"), {}).joins, 0) << "not known";
  // Nobody measured its clock.
  EXPECT_EQ(RatesOf(Host("x86-64 avx2 fma"), {}).clock_hz, 4e9);
}

TEST(DeviceRates, OfAKnownProcessorFollowFromItsSpecification) {
  DeviceDescription device = Host("x86-64 avx2 fma avx512f");
  device.limits = {.clock_hz = 3.7e9, .memory_bytes_per_s = 4.6e11, .cache_bytes = 486 << 20};
  const DeviceRates rates = RatesOf(device, {.memory_bytes_per_s = 1e10, .clock_hz = 3e9});
  EXPECT_EQ(rates.of(RealKind::kDouble), (ArithmeticRate{16, 32, 32}));
  EXPECT_EQ(rates.clock_hz, 3.7e9);
  EXPECT_EQ(rates.cache_bytes, 486 << 20);
  EXPECT_THAT(rates.ToText(), Not(HasSubstr("clock assumed")));
  EXPECT_THAT(rates.ToText(), HasSubstr("caches assumed: the machine has the caches of one"));
}

TEST(DeviceRates, UnitsMayBeNarrowerThanVectors) {
  DeviceDescription device = Host("x86-64 avx2 fma avx512f");
  const DeviceRates whole = RatesOf(device, {.clock_hz = 3e9});
  device.limits.unit_bytes = 32;
  const DeviceRates rates = RatesOf(device, {.clock_hz = 3e9});
  EXPECT_EQ(whole.of(RealKind::kSingle), (ArithmeticRate{32, 64, 64}));
  EXPECT_EQ(rates.of(RealKind::kSingle), (ArithmeticRate{16, 32, 32}));
  EXPECT_EQ(rates.instructions, whole.instructions);
  EXPECT_THAT(rates.ToText(), HasSubstr("clock assumed: no core is clocked above 3.06 GHz, and its "
                                        "units compute 32 bytes in a cycle\n"));
  // What was reached shows that they are as wide as vectors.
  EXPECT_DOUBLE_EQ(RatesOf(device, {.fp32_flops_per_s = 4e11, .clock_hz = 3e9}).clock_hz,
                   1.02 * 4e11 / (2 * 16 * 2));
  device.limits.clock_hz = 3.7e9;
  EXPECT_EQ(RatesOf(device, {}).clock_assumption, "");
}

TEST(DeviceRates, OfUnknownCoresAreLarge) {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.isa = "gfx90a";
  device.kind = DeviceKind::kHip;
  const DeviceRates rates = RatesOf(device, {});
  EXPECT_EQ(rates.of(RealKind::kSingle).multiplications, 256);
  EXPECT_EQ(rates.special, 0);
  EXPECT_FALSE(rates.clock_assumption.empty());
}

}  // namespace
}  // namespace mdh::device_rates_test
