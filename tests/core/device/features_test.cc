// The table of targets, and what its devices can do.
#include "core/device/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/decomposition/constraints.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "tests/error_message.h"
#include "tests/nvidia_under_opencl.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(BackendsTest, EveryKindIsDescribedOnce) {
  std::set<std::string> names;
  for (const BackendInfo& backend : Backends()) {
    EXPECT_EQ(&BackendOf(backend.kind), &backend);
    EXPECT_EQ(&BackendOf(backend.language), &backend);
    EXPECT_EQ(FindBackend(backend.language_name), &backend);
    EXPECT_EQ(TuningModel(backend.kind).kind, backend.kind);
    EXPECT_EQ(TuningModel(backend.kind).memory == MemoryKind::kExplicit, backend.has_blocks);
    EXPECT_TRUE(names.insert(std::string(backend.name)).second);
  }
  EXPECT_EQ(Name(Language::kOpenMpC), "OpenMP C");
  EXPECT_EQ(Name(Language::kOpenClC), "OpenCL C");
  EXPECT_EQ(Name(Language::kCudaCxx), "CUDA C++");
  EXPECT_EQ(FindBackend("Fortran"), nullptr);
  EXPECT_EQ(FindBackend(static_cast<DeviceKind>(9)), nullptr);
}

TEST(FeaturesTest, FollowFromTheArchitecture) {
  const DeviceDescription host = *DescribeHostCpu();
  EXPECT_EQ(host.features, FeaturesOf(host));
  const DeviceDescription h100 = *DescribeCudaArchitecture(90),
                          a100 = *DescribeCudaArchitecture(80);
  for (const auto& [name, field] : FeatureNames()) {
    EXPECT_EQ(h100.features.*field, absl::string_view(name) != "dot_products") << name;
  }
  EXPECT_TRUE(a100.features.async_copies);
  EXPECT_FALSE(a100.features.clusters);
  DeviceDescription turing = a100;
  turing.isa = "sm_75";
  EXPECT_FALSE(FeaturesOf(turing).async_copies);
  EXPECT_TRUE(FeaturesOf(turing).shuffles_up);
  turing.blocks.warp_size = 1;
  EXPECT_FALSE(FeaturesOf(turing).shuffles_up);
  turing.blocks.warp_size = 64;  // more than CUDA's shuffles reach
  EXPECT_FALSE(FeaturesOf(turing).shuffles_down);
  turing.blocks.warp_size = 16;  // fewer than prefix sums take
  EXPECT_TRUE(FeaturesOf(turing).shuffles_down);
  EXPECT_FALSE(FeaturesOf(turing).shuffles_up);
}

TEST(FeaturesTest, DotProductsOfCpusAreInTheirInstructionSet) {
  DeviceDescription cpu;
  for (const char* isa : {"", "x86-64 avx2 fma avx512f", "x86-64 amx_int8", "aarch64 neon"}) {
    cpu.isa = isa;
    EXPECT_EQ(FeaturesOf(cpu), DeviceFeatures()) << isa;
  }
  for (const char* isa : {"x86-64 avx512_vnni", "x86-64 avx_vnni", "x86-64 avx512_bf16"}) {
    cpu.isa = isa;
    EXPECT_EQ(FeaturesOf(cpu), DeviceFeatures{.dot_products = true}) << isa;
    EXPECT_THAT(cpu.Fingerprint(), HasSubstr("dot_products"));  // is missing
    cpu.features = FeaturesOf(cpu);
    EXPECT_THAT(cpu.Fingerprint(), Not(HasSubstr("dot_products")));
    cpu.isa = "x86-64";
    EXPECT_THAT(ErrorMessage(ValidateFeatures(cpu)),
                HasSubstr("features.dot_products is true, but isa is 'x86-64'"));
    cpu.features = {};
  }
}

TEST(FeaturesTest, OfOpenClAreThoseOfItsCompiler) {
  const DeviceDescription ptx = NvidiaUnderOpenCl();
  EXPECT_TRUE(HasShuffles(ptx));
  EXPECT_TRUE(HasAsyncCopies(ptx));
  EXPECT_TRUE(HasAtomicAdd(ptx, ScalarType::kFloat32));
  EXPECT_FALSE(ptx.features.shuffles_up);
  EXPECT_FALSE(ptx.features.atomics_64);
  EXPECT_FALSE(HasAsyncCopies(NvidiaUnderOpenCl("OpenCL 3.0 CUDA sm_75")));
  for (const char* isa : {"sm_90", "OpenCL 3.0 CUDA", "OpenCL 3.0 PoCL sm_", ""}) {
    const DeviceDescription plain = NvidiaUnderOpenCl(isa);
    EXPECT_FALSE(HasShuffles(plain)) << isa;
    EXPECT_FALSE(HasAsyncCopies(plain));
    EXPECT_FALSE(HasAtomicAdd(plain, ScalarType::kFloat32));
    EXPECT_TRUE(plain.features.atomics_32);
    EXPECT_TRUE(plain.features.private_registers);
  }
}

TEST(FeaturesTest, WhatContradictsTheArchitectureIsRefused) {
  const auto error = [](const auto& damage) {
    DeviceDescription device = *DescribeCudaArchitecture(90);
    damage(device);
    return std::string(ValidateDevice(device).message());
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_EQ(error([](auto& d) { d.isa = "sm_75"; }),
            "device description: features.async_copies is true, but isa is 'sm_75'");
  EXPECT_EQ(error([](auto& d) { d.isa = "sm_80"; }),
            "device description: features.clusters is true, but isa is 'sm_80'");
  EXPECT_EQ(error([](auto& d) { d.blocks.warp_size = 1; }),
            "device description: features.shuffles_down is true, but warp_size is 1");
  EXPECT_EQ(error([](auto& d) { d.kind = DeviceKind::kHip; }),
            "device description: features.async_copies is true, but kind is hip");
  EXPECT_EQ(error([](auto& d) {
              d.kind = DeviceKind::kOpenCl;
              d.isa = "OpenCL 3.0";
              d.features = {.atomic_additions = true};
            }),
            "device description: features.atomic_additions is true, but isa is 'OpenCL 3.0'");
  EXPECT_EQ(
      error([](auto& d) {
        d.kind = DeviceKind::kOpenCl;
        d.features = {.private_registers = true};
        d.blocks.registers_per_thread = 0;
      }),
      "device description: features.private_registers is true, but registers_per_thread is 0");
  DeviceDescription cpu;
  cpu.features.last_block = true;
  EXPECT_EQ(ValidateDevice(cpu).message(),
            "device description: features.last_block is true, but kind is cpu");
}

// Results for such a device are not those for one with everything.
TEST(FeaturesTest, ADescriptionMayHaveFewer) {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  const std::string whole = device.Fingerprint();
  EXPECT_THAT(whole, Not(HasSubstr("without")));
  device.features.clusters = device.features.shuffles_up = false;
  EXPECT_TRUE(ValidateDevice(device).ok());
  EXPECT_THAT(device.Fingerprint(), HasSubstr("; without shuffles_up; without clusters; compiler"));
}

}  // namespace
}  // namespace mdh
