// How many sets of buffers are used in turns where caches shall be cold, and what is in them.
#include "tuner/measure/trial/buffer_sets.h"

#include <array>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::buffer_sets_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMiB = int64_t{1} << 20;

DeviceDescription Gpu(int64_t cache_bytes, int64_t memory_bytes) {
  DeviceDescription device;
  device.kind = DeviceKind::kCuda;
  device.l2_bytes = cache_bytes;
  device.l3_bytes = 0;
  device.blocks.memory_bytes = memory_bytes;
  return device;
}

TEST(SetsBeyondCaches, ThreeTimesTheCacheAndAtLeastTwo) {
  const DeviceDescription device = Gpu(60 * kMiB, 100'000 * kMiB);
  EXPECT_EQ(SetsBeyondCaches(18 * kMiB, device), 10);
  EXPECT_EQ(SetsBeyondCaches(19 * kMiB, device), 10);
  EXPECT_EQ(SetsBeyondCaches(1000 * kMiB, device), 2);
}

TEST(SetsBeyondCaches, SmallBuffersHaveALimit) {
  EXPECT_EQ(SetsBeyondCaches(4, Gpu(60 * kMiB, 100'000 * kMiB)), 1500);
}

// A search compares their times, so that all of a few microseconds are timed in the same way:
// whether one call seemed to take 6 us or 8 makes no difference.
TEST(CallsTimedTogether, ShortKernelsGoThroughAllSets) {
  EXPECT_EQ(CallsTimedTogether(6e3, 1500, false), 1500);
  EXPECT_EQ(CallsTimedTogether(8e3, 1500, false), 1500);
  EXPECT_EQ(CallsTimedTogether(20e3, 1500, false), 1500);
  EXPECT_EQ(CallsTimedTogether(6e3, 10, false), 40);
  EXPECT_EQ(CallsTimedTogether(1e3, 1, false), 200);
}

TEST(CallsTimedTogether, LongerOnesThroughSomeOfManySets) {
  EXPECT_EQ(CallsTimedTogether(40e3, 1500, false), 5);
  EXPECT_EQ(CallsTimedTogether(150e3, 1500, false), 2);
  EXPECT_EQ(CallsTimedTogether(150e3, 10, false), 10);
}

TEST(CallsTimedTogether, OneThatIsAsLongAsABatchIsTimedAlone) {
  EXPECT_EQ(CallsTimedTogether(200e3, 10, false), 1);
  EXPECT_EQ(CallsTimedTogether(200e3, 10, true), 10);
  EXPECT_EQ(CallsTimedTogether(2e6, 1, true), 1);
}

TEST(SetsBeyondCaches, AnEighthOfTheMemoryAtMost) {
  EXPECT_EQ(SetsBeyondCaches(10 * kMiB, Gpu(60 * kMiB, 400 * kMiB)), 5);
  EXPECT_EQ(SetsBeyondCaches(100 * kMiB, Gpu(60 * kMiB, 400 * kMiB)), 1);
}

TEST(SetsBeyondCaches, TheLargestCacheCounts) {
  DeviceDescription device = Gpu(kMiB, 100'000 * kMiB);
  EXPECT_EQ(SetsBeyondCaches(16 * kMiB, device), 3);  // a cache is never taken to be small
  device.l3_bytes = 64 * kMiB;
  EXPECT_EQ(SetsBeyondCaches(16 * kMiB, device), 12);
}

// Memory of the host, so little that it may run out.
class HostMemory final : public DeviceMemory {
 public:
  explicit HostMemory(int64_t bytes) : DeviceMemory(bytes, 0), data(static_cast<size_t>(bytes)) {}
  Status Fill(std::byte) override { return absl::OkStatus(); }
  Status Write(absl::Span<const std::byte> contents) override {
    data.assign(contents.begin(), contents.end());
    return absl::OkStatus();
  }
  Status WriteAt(int64_t, absl::Span<const std::byte>) override { return absl::OkStatus(); }
  Status Read(int64_t, absl::Span<std::byte>) const override { return absl::OkStatus(); }

  std::vector<std::byte> data;
};

class HostDevice final : public ComputeDevice {
 public:
  explicit HostDevice(int most) : left_(most) {}
  const DeviceDescription& description() const override { return description_; }
  std::string platform() const override { return "host"; }
  std::string driver() const override { return "1"; }
  Result<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes, int64_t guard_bytes) override {
    EXPECT_EQ(guard_bytes, 0);
    if (left_-- == 0) return absl::ResourceExhaustedError("no memory");
    return std::make_unique<HostMemory>(bytes);
  }
  Result<std::unique_ptr<DeviceProgram>> Compile(const Kernel&) override { return None(); }
  Result<std::string> CompileToBinary(const Kernel&) override { return None(); }
  Result<std::unique_ptr<DeviceProgram>> LoadBinary(const Kernel&, const std::string&) override {
    return None();
  }
  Result<std::unique_ptr<DeviceFunction>> CompileFunction(const FunctionSource&) override {
    return None();
  }
  Status Finish() override { return absl::OkStatus(); }

 private:
  static Status None() { return absl::UnimplementedError("only memory"); }
  DeviceDescription description_;
  int left_;
};

class BufferSetsTest : public ::testing::Test {
 protected:
  const std::array<std::byte, 3> contents_ = {std::byte{1}, std::byte{2}, std::byte{3}};
  const std::vector<InputBuffer> inputs_ = {{"a", contents_.data(), 3}};
  const std::vector<OutputBuffer> outputs_ = {{"x", ScalarType::kFloat32, 8},
                                              {"y", ScalarType::kFloat32, 4}};
};

TEST_F(BufferSetsTest, EverySetHasTheInputsAndRoomForTheOutputs) {
  HostDevice device(100);
  const Result<BufferSets> sets = BufferSets::Create(device, inputs_, outputs_, 3);
  ASSERT_TRUE(sets.ok()) << sets.status();
  ASSERT_THAT(sets->others(), SizeIs(2));
  for (const DeviceArguments& set : sets->others()) {
    ASSERT_THAT(set, SizeIs(3));
    EXPECT_THAT(static_cast<const HostMemory*>(set[0])->data,
                ElementsAre(std::byte{1}, std::byte{2}, std::byte{3}));
    EXPECT_EQ(set[1]->bytes(), 8);
    EXPECT_EQ(set[2]->bytes(), 4);
  }
  EXPECT_NE(sets->others()[0][0], sets->others()[1][0]);
}

TEST_F(BufferSetsTest, TheFirstSetIsTheCallers) {
  HostDevice device(0);
  EXPECT_THAT(BufferSets::Create(device, inputs_, outputs_, 1)->others(), IsEmpty());
}

TEST_F(BufferSetsTest, MemoryMayRunOut) {
  HostDevice device(4);
  EXPECT_EQ(BufferSets::Create(device, inputs_, outputs_, 3).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace mdh::buffer_sets_test
