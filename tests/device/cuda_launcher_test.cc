// Which call of the driver launches a stage, and with what: on a driver that only remembers.
#include "tuner/device/cuda/cuda_launcher.h"

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/device/cuda/tensor_maps.h"

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
    return CudaLauncher(functions_, capability)
        .Launch(&function_, launch_, {&value_, 1}, &stream_seen);
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

// What is encoded, as cuda.h says; the map tells where the array is.
int Encode(void* map, int type, unsigned rank, CudaPointer first, const uint64_t* extents,
           const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
           int interleave, int swizzle, int promotion, int fill) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(map) % 64, 0u);
  EXPECT_EQ(type, 1);  // CU_TENSOR_MAP_DATA_TYPE_UINT16
  EXPECT_THAT(std::vector<uint64_t>(extents, extents + rank), ElementsAre(64, 100, 3));
  EXPECT_THAT(std::vector<uint64_t>(strides, strides + rank - 1), ElementsAre(256, 25600));
  EXPECT_THAT(std::vector<uint32_t>(box, box + rank), ElementsAre(64, 128, 1));
  EXPECT_THAT(std::vector<uint32_t>(element_strides, element_strides + rank), ElementsAre(1, 1, 1));
  EXPECT_EQ(interleave, 0);
  EXPECT_EQ(swizzle, 3);  // CU_TENSOR_MAP_SWIZZLE_128B
  EXPECT_EQ(promotion, 2);
  EXPECT_EQ(fill, 0);
  static_cast<EncodedTensorMap*>(map)->words[0] = first;
  return answer;
}

class TensorMapsTest : public CudaLauncherTest {
 protected:
  TensorMapsTest() {
    functions_.TensorMapEncodeTiled = Encode;
    launch_.tensor_maps = {{1, 32, 2, {64, 100, 3}, {256, 25600}, {64, 128, 1}}};
  }
  Status LaunchWith(CudaPointer second) {
    pointers_ = {1 << 20, second};
    std::vector<void*> values = {&pointers_[0], &pointers_[1]};
    return CudaLauncher(functions_, 90)
        .Launch(&function_, launch_, absl::MakeSpan(values), &stream_seen);
  }
  std::vector<CudaPointer> pointers_;
};

uint64_t map_seen;  // its first word
int LaunchWithMap(const cuda::LaunchConfig*, void*, void** values, void**) {
  EXPECT_EQ(*static_cast<CudaPointer*>(values[0]), 1u << 20);
  map_seen = static_cast<EncodedTensorMap*>(values[2])->words[0];
  return 0;
}

TEST_F(TensorMapsTest, AreEncodedBehindPointers) {
  functions_.LaunchKernelEx = LaunchWithMap;
  ASSERT_TRUE(LaunchWith(4096).ok());
  EXPECT_EQ(map_seen, 4096u + 32);
}

TEST_F(TensorMapsTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(LaunchWith(4100).message(), "argument 2 is at no multiple of 16 bytes");
  answer = 1;
  EXPECT_THAT(LaunchWith(4096).message(), HasSubstr("cuTensorMapEncodeTiled: WHY"));
  launch_.tensor_maps[0].argument = 2;
  EXPECT_EQ(LaunchWith(4096).message(), "k_1 has no argument 3");
  launch_.tensor_maps[0].argument = 1;
  functions_.TensorMapEncodeTiled = nullptr;
  EXPECT_EQ(LaunchWith(4096).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace mdh::cuda_launcher_test
