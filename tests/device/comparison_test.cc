// Comparing buffers in a device's memory, by the kernel that runners use.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/device/hand_written_kernels.h"
#include "tests/error_message.h"
#include "tuner/measure/executor/device_comparison.h"
#include "tuner/measure/executor/device_kernels.h"

namespace mdh::comparison_test {
namespace {

using ::testing::HasSubstr;

// The value: whether it is CUDA.
class DeviceComparisonTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<ComputeDevice>> found = FirstDevice(GetParam());
    if (!found.ok()) GTEST_SKIP() << found.status().message();
    device_ = *std::move(found);
  }
  Result<std::unique_ptr<DeviceComparison>> Load(const Kernel& kernel) {
    MDH_ASSIGN_OR_RETURN(const std::string binary, device_->CompileToBinary(kernel));
    return DeviceComparison::Load(*device_, {kernel, binary});
  }
  // With these contents.
  Result<DeviceBuffer> MakeBuffer(const BufferBytes& contents) {
    MDH_ASSIGN_OR_RETURN(
        DeviceBuffer buffer,
        DeviceBuffer::Create(*device_, "buffer", static_cast<int64_t>(contents.size())));
    MDH_RETURN_IF_ERROR(buffer.Write(contents));
    return buffer;
  }

  std::unique_ptr<ComputeDevice> device_;
};

BufferBytes Numbered(size_t bytes) {
  BufferBytes contents(bytes);
  for (size_t n = 0; n < bytes; ++n) contents[n] = static_cast<std::byte>(n * n + 1);
  return contents;
}

TEST_P(DeviceComparisonTest, SeesEveryByte) {
  Result<std::unique_ptr<DeviceComparison>> comparison =
      Load(EqualityKernel(device_->description()));
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  for (const size_t bytes : {size_t{1}, size_t{15}, size_t{16}, size_t{77}, size_t{1'000'003}}) {
    const BufferBytes contents = Numbered(bytes);
    Result<DeviceBuffer> buffer = MakeBuffer(contents);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    const Result<KnownContents> known =
        KnownContents::Create(*device_, **comparison, *buffer, contents);
    ASSERT_TRUE(known.ok()) << bytes << " bytes: " << known.status();
    EXPECT_TRUE(*known->AreIn(*buffer)) << bytes;
    for (const size_t at : {size_t{0}, bytes / 2, bytes - 1}) {
      BufferBytes changed = contents;
      changed[at] ^= std::byte{0x10};
      ASSERT_TRUE(buffer->Write(changed).ok());
      EXPECT_FALSE(*known->AreIn(*buffer)) << "byte " << at << " of " << bytes;
    }
    ASSERT_TRUE(buffer->Write(contents).ok());
    EXPECT_TRUE(*known->AreIn(*buffer)) << bytes;
  }
}

// Of a compiler that is wrong: never different, and always.
TEST_P(DeviceComparisonTest, OneThatDoesNotCompareIsNotUsed) {
  const BufferBytes contents = Numbered(100);
  Result<DeviceBuffer> buffer = MakeBuffer(contents);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  for (const char* answer : {"differs == 12345", "true"}) {
    Kernel kernel = EqualityKernel(device_->description());
    const size_t at = kernel.source.find("differs != 0");
    ASSERT_NE(at, std::string::npos);
    kernel.source.replace(at, 12, answer);
    Result<std::unique_ptr<DeviceComparison>> comparison = Load(kernel);
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    EXPECT_THAT(ErrorMessage(KnownContents::Create(*device_, **comparison, *buffer, contents)),
                HasSubstr("does not compare its memory rightly"));
  }
  BufferBytes now(contents.size() + 2 * kDeviceGuardBytes);
  ASSERT_TRUE(buffer->Read(absl::MakeSpan(now)).ok());
  EXPECT_TRUE(std::equal(contents.begin(), contents.end(), now.begin() + kDeviceGuardBytes));
}

INSTANTIATE_TEST_SUITE_P(OpenCl, DeviceComparisonTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Cuda, DeviceComparisonTest, ::testing::Values(true));

}  // namespace
}  // namespace mdh::comparison_test
