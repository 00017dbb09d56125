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
  for (const char* name : {"h100", "h200", "a100-40gb", "rtx4090", "rtx3090", "l4", "t4",
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

TEST(KnownDevices, AWrongFileIsNamed) {
  const Status no_json = ReadKnownDevices({{"x", "{"}}).status();
  EXPECT_EQ(no_json.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(no_json.message()), HasSubstr("x.json: "));
  const Status no_device = ReadKnownDevices({{"y", R"({"model": "Y"})"}}).status();
  EXPECT_EQ(no_device.message(), "y.json: device description: kind is 0, which is none");
}

}  // namespace
}  // namespace mdh::known_devices_test
