#include "client/commands/call/device_argument.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"
#include "tests/source_path.h"

namespace mdh::device_argument_test {
namespace {

using ::testing::HasSubstr;

TEST(DeviceArgument, AttachedDevicesHaveTheNamesOfTheirKinds) {
  for (const char* text : {"cpu", "cuda0", "opencl12", "opencl0@0-1", "cuda", "cpu@3"}) {
    const auto device = ParseDeviceArgument(text);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_TRUE(device->is_attached) << text;
    EXPECT_EQ(device->selection.name(), std::string("devices/") + text);
    EXPECT_EQ(ParseDeviceArgument(device->selection.name())->selection.name(),
              device->selection.name());
  }
}

TEST(DeviceArgument, DevicesOfOtherDaemonsAndFingerprintsAreAttached) {
  for (const char* text :
       {"nodes/w1/devices/cuda0", "cuda 'NVIDIA H100 80GB HBM3/PCIe'; sm_90; compiler unknown"}) {
    const auto device = ParseDeviceArgument(text);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_TRUE(device->is_attached);
    EXPECT_EQ(device->selection.name(), text);
    EXPECT_EQ(DeviceNameFromArgument(text), text);
  }
}

TEST(DeviceArgument, OtherNamesAreKnownDevices) {
  for (const char* text : {"h100", "knownDevices/h100"}) {
    const auto device = ParseDeviceArgument(text);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_FALSE(device->is_attached);
    EXPECT_EQ(device->selection.name(), "knownDevices/h100");
  }
}

TEST(DeviceArgument, FilesDescribeDevices) {
  const std::string shipped = SourcePath("deploy/devices/t4.json");
  const auto device = ParseDeviceArgument(shipped);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_FALSE(device->is_attached);
  EXPECT_EQ(device->selection.description().model(), "Tesla T4");
  EXPECT_EQ(device->selection.description().blocks().max_block(2), 64);
}

TEST(DeviceArgument, WrongFilesAreNamed) {
  EXPECT_EQ(ParseDeviceArgument("missing.json").status().message(), "cannot read missing.json");
  const TemporaryDirectory directory;
  const std::string file = directory.File("device.json");
  const Status missing = ParseDeviceArgument(file).status();
  EXPECT_EQ(missing.message(), "cannot read " + file);
  std::ofstream(file) << "no JSON";
  EXPECT_THAT(std::string(ParseDeviceArgument(file).status().message()), HasSubstr(file + ": "));
  std::ofstream(file) << R"({"kind": "DEVICE_KIND_CPU", "model": "M", "simd_bytes": 17})";
  EXPECT_EQ(ParseDeviceArgument(file).status().message(),
            file + ": device description: simd_bytes is 17, no power of two");
}

}  // namespace
}  // namespace mdh::device_argument_test
