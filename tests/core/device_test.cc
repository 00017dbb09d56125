// System models, and the description of the machine that runs the tests.
#include <gtest/gtest.h>

#include <thread>

#include "core/device_description.h"
#include "core/system_model.h"
#include "tests/error_message.h"

namespace mdh {
namespace {

// (memory layers, core layers), as in Example 11.
TEST(SystemModelTest, NumbersOfLayersAreThoseOfThePaper) {
  EXPECT_EQ(OpenMpModel().num_memory_layers(), 3);
  EXPECT_EQ(OpenMpModel().num_core_layers(), 1);
  EXPECT_EQ(OpenMpL3Model().num_memory_layers(), 4);
  EXPECT_EQ(OpenMpL3Model().num_core_layers(), 1);
  EXPECT_EQ(OpenMpL3SimdModel().num_memory_layers(), 4);
  EXPECT_EQ(OpenMpL3SimdModel().num_core_layers(), 2);
  EXPECT_EQ(OpenMpSimdRegistersModel().num_memory_layers(), 4);
  EXPECT_EQ(OpenMpSimdRegistersModel().num_core_layers(), 2);
}

TEST(SystemModelTest, LayersAreFoundByNameAndRole) {
  const SystemModel model = OpenMpSimdRegistersModel();
  EXPECT_EQ(model.LayerNamed("COR"), 0);
  EXPECT_EQ(model.LayerNamed("RM"), 4);
  EXPECT_EQ(model.LayerNamed("L3"), -1);
  EXPECT_EQ(model.LayerWith(LayerRole::kLanes), 5);
  EXPECT_EQ(OpenMpModel().LayerWith(LayerRole::kLanes), -1);
}

TEST(SystemModelTest, ModelsAreFoundByName) {
  for (const SystemModel& model :
       {OpenMpModel(), OpenMpL3Model(), OpenMpL3SimdModel(), OpenMpSimdRegistersModel()}) {
    const Result<SystemModel> found = SystemModelNamed(model.name);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->layers.size(), model.layers.size());
  }
  EXPECT_EQ(SystemModelNamed("CUDA").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorMessage(SystemModelNamed("CUDA")),
            "there is no system model 'CUDA'; there are 'OpenMP', 'OpenMP+L3', 'OpenMP+L3+SIMD', "
            "'OpenMP+SIMD+RM'");
}

TEST(DeviceDescriptionTest, ThisMachineIsPlausible) {
  const Result<DeviceDescription> device = DescribeHostCpu();
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_FALSE(device->name.empty());
  EXPECT_GE(device->cores, 1);
  EXPECT_GE(device->simd_bytes, 16);
  EXPECT_GE(device->vector_registers, 16);
  EXPECT_GE(device->l1_bytes, 8 << 10);
  EXPECT_GE(device->l2_bytes, device->l1_bytes);
  EXPECT_GE(device->cache_line_bytes, 16);
  EXPECT_FALSE(device->isa.empty());
  EXPECT_TRUE(device->compiler.empty());
}

TEST(DeviceDescriptionTest, FingerprintTellsDevicesApart) {
  const DeviceDescription device{.name = "A", .isa = "x86-64", .compiler = "gcc 12.2.0"};
  EXPECT_EQ(device.Fingerprint(),
            "cpu 'A'; cores 1; x86-64; simd 16 B x 16; L1 32768; L2 524288; L3 0; line 64; "
            "compiler gcc 12.2.0");
  DeviceDescription other = device;
  other.cores = 2;
  EXPECT_NE(other.Fingerprint(), device.Fingerprint());
  other = device;
  other.compiler = "";
  EXPECT_NE(other.Fingerprint(), device.Fingerprint());
}

}  // namespace
}  // namespace mdh
