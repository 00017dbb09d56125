// Which call of the driver launches a stage, and with what: on a driver that only remembers.
#include "tuner/device/cuda/cuda_launcher.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::cuda_launcher_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct LaunchSeen {
  bool is_early = false;
  std::vector<unsigned> extents;  // grid, block, bytes of dynamic shared memory
  void* function = nullptr;
  void** values = nullptr;
  std::vector<int> attribute;  // its id and value
};

LaunchSeen seen;  // by the fake driver, which C's interface leaves no other place for
int answer = 0;   // of its launches: a CUresult
int stream_seen;  // stands for the stream

int Launch(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
           unsigned bz, unsigned shared_bytes, void* stream, void** values, void** extra) {
  EXPECT_EQ(stream, &stream_seen);
  EXPECT_EQ(extra, nullptr);
  seen = {false, {gx, gy, gz, bx, by, bz, shared_bytes}, function, values, {}};
  return answer;
}

int LaunchEarly(const cuda::LaunchConfig* config, void* function, void** values, void** extra) {
  EXPECT_EQ(config->stream, &stream_seen);
  EXPECT_EQ(extra, nullptr);
  EXPECT_EQ(config->attribute_count, 1u);
  const cuda::LaunchAttribute& attribute = config->attributes[0];
  seen = {true,
          {config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1],
           config->block[2], config->dynamic_shared_bytes},
          function,
          values,
          {attribute.id, attribute.value.programmatic_stream_serialization_allowed}};
  return answer;
}

int Explain(int, const char** text) {
  *text = "WHY";
  return 0;
}

class CudaLauncherTest : public ::testing::Test {
 protected:
  CudaLauncherTest() {
    seen = {};
    answer = 0;
    functions_.LaunchKernel = Launch;
    functions_.LaunchKernelEx = LaunchEarly;
    functions_.GetErrorName = functions_.GetErrorString = Explain;
    launch_ = {"k_1", {{2, 3, 4}, {5, 6, 7}}, 8, /*starts_early=*/true};
  }
  Status LaunchOn(int capability) {
    return CudaLauncher(functions_, capability).Launch(&function_, launch_, &value_, &stream_seen);
  }

  CudaFunctions functions_ = {};
  KernelLaunch launch_;
  int function_ = 0;
  void* value_ = nullptr;
};

TEST_F(CudaLauncherTest, AStageThatMayStartEarlyDoes) {
  for (const int capability : {90, 103}) {
    ASSERT_TRUE(LaunchOn(capability).ok());
    EXPECT_TRUE(seen.is_early);
    EXPECT_THAT(seen.extents, ElementsAre(2, 3, 4, 5, 6, 7, 8));
    EXPECT_EQ(seen.function, &function_);
    EXPECT_EQ(seen.values, &value_);
    EXPECT_THAT(seen.attribute, ElementsAre(6, 1));  // cuda.h
  }
}

TEST_F(CudaLauncherTest, AnOlderDeviceLaunchesItAsUsual) {
  ASSERT_TRUE(LaunchOn(89).ok());
  EXPECT_FALSE(seen.is_early);
  EXPECT_THAT(seen.extents, ElementsAre(2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(seen.function, &function_);
  EXPECT_EQ(seen.values, &value_);
}

TEST_F(CudaLauncherTest, AnOlderDriverLaunchesItAsUsual) {
  functions_.LaunchKernelEx = nullptr;
  ASSERT_TRUE(LaunchOn(90).ok());
  EXPECT_FALSE(seen.is_early);
}

TEST_F(CudaLauncherTest, OtherStagesAreLaunchedAsUsual) {
  launch_.starts_early = false;
  ASSERT_TRUE(LaunchOn(90).ok());
  EXPECT_FALSE(seen.is_early);
  EXPECT_THAT(seen.extents, ElementsAre(2, 3, 4, 5, 6, 7, 8));
}

TEST_F(CudaLauncherTest, ErrorsNameCallAndFunction) {
  answer = 1;
  EXPECT_EQ(LaunchOn(90).code(), absl::StatusCode::kInternal);
  EXPECT_THAT(LaunchOn(90).message(), HasSubstr("cuLaunchKernelEx(k_1): WHY"));
  EXPECT_THAT(LaunchOn(80).message(), HasSubstr("cuLaunchKernel(k_1): WHY"));
  answer = cuda::kLaunchOutOfResources;
  EXPECT_EQ(LaunchOn(90).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace mdh::cuda_launcher_test
