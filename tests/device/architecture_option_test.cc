#include "tuner/device/cuda/architecture_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mdh::architecture_option_test {
namespace {

using ::testing::ElementsAre;

TEST(ArchitectureOptionTest, IsThatOfTheDeviceUnlessAKernelNamesOne) {
  EXPECT_THAT(WithArchitecture({"--std=c++17"}, 90),
              ElementsAre("--gpu-architecture=sm_90", "--std=c++17"));
  EXPECT_THAT(WithArchitecture({"--std=c++17", "--gpu-architecture=sm_90a"}, 90),
              ElementsAre("--std=c++17", "--gpu-architecture=sm_90a"));
}

}  // namespace
}  // namespace mdh::architecture_option_test
