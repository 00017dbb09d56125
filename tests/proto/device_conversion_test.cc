#include "proto/device_conversion.h"

#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::device_conversion_test {
namespace {

using ::testing::HasSubstr;

DeviceDescription Gpu() {
  DeviceDescription gpu = *DescribeCudaArchitecture(90);
  gpu.compiler = "nvrtc 12.4";
  gpu.cores = gpu.blocks.multiprocessors;
  return gpu;
}

TEST(DeviceConversion, WhatIsSentIsWhatWasThere) {
  DeviceDescription cpu = *DescribeHostCpu();
  cpu.compiler = "gcc 12";
  DeviceDescription opencl = Gpu();
  opencl.kind = DeviceKind::kOpenCl;
  opencl.blocks.has_fp64 = false;
  opencl.blocks.registers_per_block = 0;
  opencl.blocks.registers_per_thread = 0;
  opencl.features = FeaturesOf(opencl);
  for (const DeviceDescription& device : {cpu, Gpu(), opencl}) {
    const Result<DeviceDescription> received = FromProto(ToProto(device));
    ASSERT_TRUE(received.ok()) << received.status();
    EXPECT_EQ(received->Fingerprint(), device.Fingerprint());
    EXPECT_EQ(received->cores, device.cores);
    EXPECT_EQ(received->clock_hz, device.clock_hz);
    EXPECT_EQ(received->l2_bytes, device.l2_bytes);
    EXPECT_EQ(ToProto(*received).SerializeAsString(), ToProto(device).SerializeAsString());
  }
}

TEST(DeviceConversion, WhatIsLeftOutHasDefaults) {
  v1::DeviceDescription cpu;
  cpu.set_kind(v1::DEVICE_KIND_CPU);
  cpu.set_model("a CPU");
  const Result<DeviceDescription> received = FromProto(cpu);
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(received->simd_bytes, DeviceDescription().simd_bytes);
  EXPECT_EQ(received->l1_bytes, 0);
  v1::DeviceDescription gpu = ToProto(Gpu());
  gpu.clear_cores();
  gpu.mutable_blocks()->clear_has_fp64();
  EXPECT_EQ(FromProto(gpu)->cores, 132);
  EXPECT_TRUE(FromProto(gpu)->blocks.has_fp64);
}

TEST(DeviceConversion, LimitsOfTheMachineAreRates) {
  DeviceDescription gpu = Gpu();
  gpu.limits = {.clock_hz = 2e9, .memory_bytes_per_s = 3e12, .cache_bytes = 5, .unit_bytes = 32};
  EXPECT_EQ(FromProto(ToProto(gpu))->limits, gpu.limits);
  EXPECT_EQ(FromProto(ToProto(gpu))->Fingerprint(), Gpu().Fingerprint());
  v1::DeviceDescription wrong = ToProto(gpu);
  wrong.mutable_limits()->set_memory_bytes_per_s(-1);
  EXPECT_EQ(FromProto(wrong).status().message(),
            "device description: limits.memory_bytes_per_s is -1, no rate");
  wrong = ToProto(gpu);
  wrong.mutable_limits()->set_cache_bytes(-2);
  EXPECT_EQ(FromProto(wrong).status().message(),
            "device description: limits.cache_bytes is -2, which is negative");
  wrong = ToProto(gpu);
  wrong.mutable_limits()->set_unit_bytes(-1);
  EXPECT_EQ(FromProto(wrong).status().message(),
            "device description: limits.unit_bytes is -1, which is negative");
}

TEST(DeviceConversion, KindsAndFeaturesHaveTheNamesOfTheirTables) {
  for (const BackendInfo& backend : Backends()) {
    EXPECT_EQ(v1::DeviceKind_Name(static_cast<v1::DeviceKind>(backend.kind)),
              absl::StrCat("DEVICE_KIND_", absl::AsciiStrToUpper(backend.name)));
  }
  EXPECT_EQ(v1::DeviceFeatures::descriptor()->field_count(),
            static_cast<int>(FeatureNames().size()));
  for (const FeatureName& feature : FeatureNames()) {
    EXPECT_NE(v1::DeviceFeatures::descriptor()->FindFieldByName(feature.name), nullptr)
        << feature.name;
  }
}

TEST(DeviceConversion, FeaturesThatAreNotGivenAreThoseOfTheArchitecture) {
  v1::DeviceDescription old = ToProto(Gpu());
  old.clear_features();
  EXPECT_EQ(FromProto(old)->features, Gpu().features);
  EXPECT_EQ(FromProto(old)->Fingerprint(), Gpu().Fingerprint());
  v1::DeviceDescription without = old;
  without.mutable_features()->set_clusters(false);
  DeviceFeatures fewer = Gpu().features;
  fewer.clusters = false;
  EXPECT_EQ(FromProto(without)->features, fewer);
  v1::DeviceDescription wrong = old;
  wrong.set_isa("sm_75");
  wrong.mutable_features()->set_async_copies(true);
  EXPECT_EQ(FromProto(wrong).status().message(),
            "device description: features.async_copies is true, but isa is 'sm_75'");
}

TEST(DeviceConversion, WhatIsWrongIsNamed) {
  const struct {
    std::function<void(v1::DeviceDescription&)> spoil;
    const char* message;
  } cases[] = {
      {[](auto& d) { d.clear_kind(); }, "kind is 0"},
      {[](auto& d) { d.set_kind(static_cast<v1::DeviceKind>(9)); }, "kind is 9"},
      {[](auto& d) { d.clear_model(); }, "model is empty"},
      {[](auto& d) { d.set_model(std::string(300, 'm')); }, "model is longer than 256"},
      {[](auto& d) { d.set_isa(std::string(300, 'm')); }, "isa is longer than 256"},
      {[](auto& d) { d.set_compiler(std::string(300, 'm')); }, "compiler is longer than 256"},
      {[](auto& d) { d.set_cores(1 << 30); }, "cores is 1073741824, more than"},
      {[](auto& d) { d.mutable_blocks()->clear_max_block(); }, "max_block has 0 values, not 3"},
      {[](auto& d) { d.mutable_blocks()->add_max_grid(1); }, "max_grid has 4 values, not 3"},
      {[](auto& d) { d.mutable_blocks()->set_max_grid(2, int64_t{1} << 40); }, "max_grid[2] is"},
      {[](auto& d) { d.mutable_blocks()->set_warp_size(31); }, "warp_size is 31, no power of two"},
      {[](auto& d) { d.mutable_blocks()->set_memory_bytes(int64_t{1} << 60); }, "memory_bytes is"},
      {[](auto& d) { d.clear_blocks(); }, "max_block has 0 values"},
  };
  for (const auto& [spoil, message] : cases) {
    v1::DeviceDescription device = ToProto(Gpu());
    spoil(device);
    const Status status = FromProto(device).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace mdh::device_conversion_test
