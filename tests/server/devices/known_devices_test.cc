#include "server/devices/known_devices.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_conversion.h"

namespace mdh::known_devices_test {
namespace {

using ::testing::HasSubstr;

TEST(KnownDevices, EveryFileDescribesADevice) {
  const auto devices = ReadKnownDevices(KnownDeviceFiles());
  ASSERT_TRUE(devices.ok()) << devices.status();
  std::map<std::string, v1::DeviceDescription> by_name;
  for (const v1::KnownDevice& device : *devices) by_name[device.name()] = device.description();
  EXPECT_EQ(by_name.size(), devices->size());
  for (const char* name : {"h100", "h200", "a100-40gb", "rtx4090", "rtx3090", "l4", "t4", "mi250",
                           "xeon-8380", "epyc-7763", "epyc-9654", "graviton3"}) {
    EXPECT_TRUE(by_name.contains(std::string("knownDevices/") + name)) << name;
  }
  EXPECT_EQ(by_name["knownDevices/h100"].blocks().multiprocessors(), 132);
  EXPECT_EQ(by_name["knownDevices/epyc-7763"].kind(), v1::DEVICE_KIND_CPU);
}

TEST(KnownDevices, AgreeWithTheLimitsOfTheirArchitecture) {
  const auto devices = ReadKnownDevices(KnownDeviceFiles());
  ASSERT_TRUE(devices.ok()) << devices.status();
  for (const v1::KnownDevice& device : *devices) {
    const DeviceDescription known = *FromProto(device.description());
    if (known.kind != DeviceKind::kCuda || known.isa == "sm_75") continue;
    const DeviceDescription architecture =
        *DescribeCudaArchitecture(std::stoi(known.isa.substr(3)));
    EXPECT_EQ(known.blocks.shared_bytes_per_block, architecture.blocks.shared_bytes_per_block)
        << device.name();
    EXPECT_EQ(known.blocks.max_grid, architecture.blocks.max_grid) << device.name();
    EXPECT_EQ(known.blocks.registers_per_block, architecture.blocks.registers_per_block);
  }
}

TEST(KnownDevices, AllSayWhatTheirMachinesCanDo) {
  const auto devices = ReadKnownDevices(KnownDeviceFiles());
  ASSERT_TRUE(devices.ok()) << devices.status();
  for (const v1::KnownDevice& device : *devices) {
    const MachineLimits limits = FromProto(device.description())->limits;
    EXPECT_GE(limits.clock_hz, device.description().clock_hz()) << device.name();
    EXPECT_GT(limits.memory_bytes_per_s, 1e11) << device.name();
    const bool is_cpu = device.description().kind() == v1::DEVICE_KIND_CPU;
    EXPECT_GE(limits.cache_bytes, is_cpu ? device.description().l3_bytes() : 0) << device.name();
  }
}

TEST(KnownDevices, LimitsAreThoseOfTheSameModel) {
  const std::vector<v1::KnownDevice> known = *ReadKnownDevices(KnownDeviceFiles());
  DeviceDescription gpu = *DescribeCudaArchitecture(90);
  gpu.name = "NVIDIA H200";
  gpu.limits.memory_bytes_per_s = 1;  // which its driver says
  EXPECT_EQ(WithLimits(gpu, known).limits,
            (MachineLimits{.clock_hz = 1.98e9, .memory_bytes_per_s = 1, .cache_bytes = 60 << 20}));
  DeviceDescription cpu;
  cpu.name = "AMD EPYC 7763 64-Core Processor (2 CPUs of its control group)";
  EXPECT_EQ(WithLimits(cpu, known).limits.clock_hz, 3.5e9);
  cpu.name = "AMD EPYC 9654 96-Core Processor";
  EXPECT_EQ(WithLimits(cpu, known).limits.unit_bytes, 32);
  cpu.name = "AMD EPYC";
  EXPECT_EQ(WithLimits(cpu, known).limits, MachineLimits());
  gpu.name = "NVIDIA H200 of another kind";
  EXPECT_EQ(WithLimits(gpu, known).limits.clock_hz, 0);
}

// Files need not say what follows from the architecture, and may take it away.
TEST(KnownDevices, FeaturesFollowFromTheArchitecture) {
  const auto devices = ReadKnownDevices(KnownDeviceFiles());
  ASSERT_TRUE(devices.ok()) << devices.status();
  for (const v1::KnownDevice& device : *devices) {
    const DeviceDescription known = *FromProto(device.description());
    EXPECT_EQ(known.features, FeaturesOf(known)) << device.name();
  }
  const auto device = [](const std::string& features) {
    std::string json;
    for (const KnownDeviceFile& file : KnownDeviceFiles()) {
      if (file.name == "h100") json = file.json;
    }
    const std::string with = "{\"features\": " + features + "," + json.substr(json.find('{') + 1);
    return ReadKnownDevices({{"mine", with}});
  };
  const auto without = device(R"({"clusters": false})");
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_FALSE(FromProto((*without)[0].description())->features.clusters);
  EXPECT_TRUE(FromProto((*without)[0].description())->features.async_copies);
  EXPECT_THAT(std::string(device(R"({"matrices": true})").status().message()),
              HasSubstr("mine.json: "));
}

TEST(KnownDevices, AWrongFileIsNamed) {
  const Status no_json = ReadKnownDevices({{"x", "{"}}).status();
  EXPECT_EQ(no_json.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(no_json.message()), HasSubstr("x.json: "));
  const Status no_device = ReadKnownDevices({{"y", R"({"model": "Y"})"}}).status();
  EXPECT_EQ(no_device.message(), "y.json: device description: kind is 0, which is none");
}

}  // namespace
}  // namespace mdh::known_devices_test
