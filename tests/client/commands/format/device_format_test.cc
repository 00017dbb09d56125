#include "client/commands/format/device_format.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_conversion.h"

namespace mdh::device_format_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Device Gpu() {
  v1::Device device;
  device.set_name("devices/cuda0");
  *device.mutable_description() = ToProto(*DescribeCudaArchitecture(90));
  device.mutable_description()->set_compiler("nvrtc 12.4");
  device.set_fingerprint("cuda 'NVIDIA H100'");
  device.set_platform("CUDA");
  device.set_driver("550.54");
  device.set_can_tune(true);
  device.set_health(v1::DEVICE_HEALTH_HEALTHY);
  device.mutable_peaks()->set_fp32_flops_per_s(6e13);
  device.mutable_peaks()->set_copy_bytes_per_s(3e12);
  device.mutable_peaks()->set_launch_overhead_ns(2500);
  device.mutable_peaks()->mutable_units()->set_half_flops_per_s(9e14);
  device.mutable_peaks()->mutable_units()->set_fp64_flops_per_s(6.5e13);
  device.mutable_load()->set_running_job("tuningJobs/7");
  device.mutable_load()->set_queued_jobs(2);
  return device;
}

TEST(DeviceFormat, ShowsLimitsPeaksHealthAndLoad) {
  const std::string text = FormatDevice(Gpu());
  for (const char* part :
       {"devices/cuda0: NVIDIA H100\n", "platform     CUDA, 550.54\n",
        "processors   132, 1.98 GHz, sm_90\n",
        "1024 threads, at most 1024 x 1024 x 64; warps of 32; grids of 2147483647 x 65535 x 65535",
        "80.0 GiB, shared 227 KiB a block, L2 50.0 MiB", "255 a thread, 65536 a block",
        "fp32 60.0 TFLOP/s", "copies 3000 GB/s", "launch       2.50 us",
        "matrix units fp16 900.0 TFLOP/s, fp64 65.0 TFLOP/s\n", "compilers    nvrtc 12.4",
        "tuning       yes", "health       healthy", "load         tuningJobs/7, 2 queued",
        "fingerprint  cuda 'NVIDIA H100'"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(DeviceFormat, SaysWhoseADeviceIsAndWhoIsGone) {
  v1::Device device = Gpu();
  EXPECT_THAT(FormatDevice(device), Not(HasSubstr("daemon")));
  device.set_node("nodes/w1");
  EXPECT_THAT(FormatDevice(device), HasSubstr("daemon       nodes/w1\n"));
  v1::Node node;
  node.set_name("nodes/w1");
  node.set_server_version("0.1.0");
  node.set_generator_version(16);
  EXPECT_EQ(FormatNode(node), "nodes/w1: mdhd 0.1.0, generator 16\n");
  node.set_is_gone(true);
  node.mutable_seen_time()->set_seconds(1'000'000'000);
  EXPECT_THAT(FormatNode(node), HasSubstr("gone: last heard of at 2001-09-09T01:46:40Z\n"));
}

TEST(DeviceFormat, SaysNothingOfUnitsThatWereNotMeasured) {
  v1::Device device = Gpu();
  device.mutable_peaks()->clear_units();
  EXPECT_THAT(FormatDevice(device), Not(HasSubstr("matrix units")));
}

TEST(DeviceFormat, SaysWhatIsWrong) {
  v1::Device device = Gpu();
  device.clear_peaks();
  device.clear_load();
  device.set_health(v1::DEVICE_HEALTH_UNHEALTHY);
  device.set_health_reason("unhealthy: hot");
  device.set_can_tune(false);
  device.set_cannot_tune_reason("no NVRTC");
  device.mutable_description()->mutable_blocks()->set_has_fp64(false);
  device.mutable_description()->mutable_blocks()->set_registers_per_block(0);
  const std::string text = FormatDevice(device);
  EXPECT_THAT(text, HasSubstr("health       unhealthy: unhealthy: hot\n"));
  EXPECT_THAT(text, HasSubstr("tuning       no NVRTC\n"));
  EXPECT_THAT(text, HasSubstr("sm_90, no fp64\n"));
  EXPECT_THAT(text, HasSubstr("registers    not limited\n"));
  EXPECT_THAT(text, HasSubstr("load         idle, 0 queued\n"));
  EXPECT_THAT(text, Not(HasSubstr("peaks")));
  device.set_health(v1::DEVICE_HEALTH_STARTING);
  EXPECT_THAT(FormatDevice(device), HasSubstr("health       starting\n"));
}

TEST(DeviceFormat, ACpuHasCoresAndCaches) {
  v1::Device device;
  DeviceDescription description;
  description.name = "a CPU";
  description.cores = 8;
  *device.mutable_description() = ToProto(description);
  const std::string text = FormatDevice(device);
  EXPECT_THAT(text, HasSubstr("cores        8 hardware threads"));
  EXPECT_THAT(text, HasSubstr("compilers    none"));
  EXPECT_THAT(text, Not(HasSubstr("platform")));
}

TEST(DeviceFormat, KnownDevicesHaveOneLine) {
  v1::KnownDevice device;
  device.set_name("knownDevices/h100");
  *device.mutable_description() = Gpu().description();
  EXPECT_EQ(FormatKnownDevice(device),
            "knownDevices/h100: NVIDIA H100 (sm_90, 132 multiprocessors)\n");
}

}  // namespace
}  // namespace mdh::device_format_test
