// System models, and the description of the machine that runs the tests.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "core/decomposition/constraints.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "tests/error_message.h"

namespace mdh::device_test {
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
  EXPECT_EQ(CudaModel().num_memory_layers(), 3);
  EXPECT_EQ(CudaModel().num_core_layers(), 2);
  EXPECT_EQ(CudaWarpModel().num_memory_layers(), 3);
  EXPECT_EQ(CudaWarpModel().num_core_layers(), 3);
  EXPECT_EQ(OpenClModel().num_memory_layers(), 3);
  EXPECT_EQ(OpenClModel().num_core_layers(), 2);
  EXPECT_EQ(MultiGpuModel().num_memory_layers(), 4);
  EXPECT_EQ(MultiGpuModel().num_core_layers(), 3);
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
       {OpenMpModel(), OpenMpL3Model(), OpenMpL3SimdModel(), OpenMpSimdRegistersModel(),
        CudaModel(), CudaWarpModel(), OpenClModel(), MultiGpuModel()}) {
    const Result<SystemModel> found = SystemModelNamed(model.name);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->layers.size(), model.layers.size());
  }
  EXPECT_EQ(SystemModelNamed("Cuda").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorMessage(SystemModelNamed("Cuda")),
            "there is no system model 'Cuda'; there are 'OpenMP', 'OpenMP+L3', 'OpenMP+L3+SIMD', "
            "'OpenMP+SIMD+RM', 'CUDA', 'CUDA+WRP', 'OpenCL', 'Multi-GPU'");
}

TEST(SystemModelTest, RegionsAreThoseOfTheMemoryLayers) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(OpenMpModel().memory_regions(), (Names{"MM", "L2", "L1"}));
  EXPECT_EQ(CudaModel().memory_regions(), (Names{"DM", "SM", "RM"}));
  EXPECT_EQ(CudaWarpModel().memory_regions(), (Names{"DM", "SM", "RM"}));
  EXPECT_EQ(OpenClModel().memory_regions(), (Names{"GM", "LM", "PM"}));
  EXPECT_EQ(MultiGpuModel().memory_regions(), (Names{"HM", "DM", "SM", "RM"}));
}

TEST(SystemModelTest, DimensionsArePrintedAsInTheProgrammingModel) {
  EXPECT_EQ(CudaModel().DimensionName(0), "x");
  EXPECT_EQ(CudaModel().DimensionName(2), "z");
  EXPECT_EQ(CudaModel().DimensionName(3), "z2");
  EXPECT_EQ(CudaWarpModel().DimensionName(4), "z3");
  EXPECT_EQ(OpenClModel().DimensionName(0), "0");
  EXPECT_EQ(OpenMpModel().DimensionName(4), "4");
}

TEST(SystemModelTest, ModelsAreForOneKindOfDevice) {
  EXPECT_EQ(DeviceKindOf(OpenMpModel()), DeviceKind::kCpu);
  EXPECT_EQ(DeviceKindOf(OpenClModel()), DeviceKind::kOpenCl);
  EXPECT_EQ(DeviceKindOf(CudaWarpModel()), DeviceKind::kCuda);
  EXPECT_EQ(DeviceKindOf(MultiGpuModel()), DeviceKind::kCuda);
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

TEST(DeviceDescriptionTest, FingerprintOfGpusHasTheirLimits) {
  DeviceDescription device = *DescribeCudaArchitecture(80);
  device.compiler = "nvrtc 12.4";
  EXPECT_EQ(device.Fingerprint(),
            "cuda 'NVIDIA A100'; sm_80; multiprocessors 108; threads 1024; block 1024,1024,64; "
            "grid 2147483647,65535,65535; warp 32; shared 166912; registers 255 of 65536; "
            "memory 42949672960; fp64 yes; compiler nvrtc 12.4");
  DeviceDescription other = device;
  other.kind = DeviceKind::kOpenCl;
  EXPECT_EQ(other.Fingerprint().substr(0, 8), "opencl '");
  other = device;
  other.blocks.shared_bytes_per_block /= 2;
  EXPECT_NE(other.Fingerprint(), device.Fingerprint());
}

TEST(DeviceDescriptionTest, ComputeCapabilityOfDevicesUnderCuda) {
  DeviceDescription device = *DescribeCudaArchitecture(100);
  EXPECT_EQ(ComputeCapability(device), 100);
  device.isa = "sm_";
  EXPECT_EQ(ComputeCapability(device), 0);
  device.isa = "OpenCL 3.0";
  EXPECT_EQ(ComputeCapability(device), 0);
}

// What an OpenCL device has is in its isa only if its compiler takes PTX.
TEST(DeviceDescriptionTest, ComputeCapabilityOfDevicesUnderOpenCl) {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.kind = DeviceKind::kOpenCl;
  for (const char* isa : {"sm_90", "OpenCL 3.0 CUDA", "OpenCL 3.0 PoCL sm_", ""}) {
    device.isa = isa;
    EXPECT_EQ(ComputeCapability(device), 0) << isa;
    EXPECT_FALSE(HasShuffles(device));
    EXPECT_FALSE(HasAsyncCopies(device));
    EXPECT_FALSE(HasAtomicAdd(device, ScalarType::kFloat32));
  }
  device.isa = "OpenCL 3.0 CUDA sm_90";
  EXPECT_EQ(ComputeCapability(device), 90);
  EXPECT_TRUE(HasShuffles(device));
  EXPECT_TRUE(HasAsyncCopies(device));
  EXPECT_TRUE(HasAtomicAdd(device, ScalarType::kFloat32));
  device.isa = "OpenCL 3.0 CUDA sm_75";
  EXPECT_FALSE(HasAsyncCopies(device));
  device.kind = DeviceKind::kCpu;
  EXPECT_EQ(ComputeCapability(device), 0);
}

TEST(DeviceDescriptionTest, CudaArchitecturesAreConsistent) {
  for (const int capability : {80, 86, 89, 90, 100}) {
    const Result<DeviceDescription> device = DescribeCudaArchitecture(capability);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_TRUE(ValidateDevice(*device).ok()) << ValidateDevice(*device);
    EXPECT_EQ(device->kind, DeviceKind::kCuda);
  }
  EXPECT_EQ(DescribeCudaArchitecture(90)->blocks.shared_bytes_per_block, 227 * 1024);
  EXPECT_EQ(ErrorMessage(DescribeCudaArchitecture(70)),
            "compute capability 70 is not known; known are 80, 86, 89, 90, 100");
}

TEST(DeviceDescriptionTest, DescriptionsOfCpusAreChecked) {
  EXPECT_TRUE(ValidateDevice(*DescribeHostCpu()).ok());
  const auto error = [](const auto& damage) {
    DeviceDescription device;
    damage(device);
    return std::string(ValidateDevice(device).message());
  };
  EXPECT_EQ(error([](auto& d) { d.cores = 0; }), "device description: cores is 0, not positive");
  EXPECT_EQ(error([](auto& d) { d.simd_bytes = 24; }),
            "device description: simd_bytes is 24, no power of two");
  EXPECT_EQ(error([](auto& d) { d.vector_registers = -1; }),
            "device description: vector_registers is -1, not positive");
  EXPECT_EQ(error([](auto& d) { d.l1_bytes = -1; }),
            "device description: l1_bytes is -1, which is negative");
  EXPECT_EQ(error([](auto& d) { d.l2_bytes = -1; }),
            "device description: l2_bytes is -1, which is negative");
  EXPECT_EQ(error([](auto& d) { d.l3_bytes = -1; }),
            "device description: l3_bytes is -1, which is negative");
  EXPECT_EQ(error([](auto& d) { d.cache_line_bytes = 0; }),
            "device description: cache_line_bytes is 0, not positive");
  EXPECT_EQ(error([](auto& d) { d.kind = static_cast<DeviceKind>(9); }),
            "device description: kind is 9, which is none");
}

TEST(DeviceDescriptionTest, DescriptionsOfGpusAreChecked) {
  const auto error = [](const auto& damage) {
    DeviceDescription device = *DescribeCudaArchitecture(80);
    damage(device, device.blocks);
    return std::string(ValidateDevice(device).message());
  };
  EXPECT_EQ(error([](auto&, auto& b) { b.multiprocessors = 0; }),
            "device description: multiprocessors is 0, not positive");
  EXPECT_EQ(error([](auto&, auto& b) { b.max_threads_per_block = 0; }),
            "device description: max_threads_per_block is 0, not positive");
  EXPECT_EQ(error([](auto&, auto& b) { b.max_block[2] = 0; }),
            "device description: max_block[2] is 0, not positive");
  EXPECT_EQ(error([](auto&, auto& b) { b.max_grid[1] = 0; }),
            "device description: max_grid[1] is 0, not positive");
  EXPECT_EQ(error([](auto&, auto& b) {
              b.max_block = {8, 4, 4};
            }),
            "device description: max_threads_per_block is 1024, but max_block allows only 128");
  EXPECT_EQ(error([](auto&, auto& b) { b.warp_size = 24; }),
            "device description: warp_size is 24, no power of two");
  EXPECT_EQ(error([](auto&, auto& b) { b.warp_size = 2048; }),
            "device description: warp_size is 2048, more than max_threads_per_block, 1024");
  EXPECT_EQ(error([](auto&, auto& b) { b.shared_bytes_per_block = 0; }),
            "device description: shared_bytes_per_block is 0, not positive");
  EXPECT_EQ(error([](auto&, auto& b) { b.memory_bytes = 0; }),
            "device description: memory_bytes is 0, not positive");
  EXPECT_EQ(error([](auto&, auto& b) { b.memory_bytes = 1000; }),
            "device description: shared_bytes_per_block is 166912, more than memory_bytes, 1000");
  EXPECT_EQ(error([](auto&, auto& b) { b.registers_per_thread = 0; }),
            "device description: registers_per_thread is 0, not positive");
  EXPECT_EQ(error([](auto& d, auto& b) {
              d.kind = DeviceKind::kOpenCl;
              b.registers_per_block = -1;
            }),
            "device description: registers_per_block is -1, which is negative");
  EXPECT_EQ(error([](auto&, auto& b) { b.registers_per_block = 128; }),
            "device description: registers_per_thread is 255, more than registers_per_block, 128");
  EXPECT_EQ(error([](auto& d, auto& b) {
              d.kind = DeviceKind::kOpenCl;
              b.registers_per_thread = 0;
              b.registers_per_block = 0;
            }),
            "");
}

}  // namespace
}  // namespace mdh::device_test
