// Libraries of vendors: what is said where they are missing, and compiling without a device.
#include <fstream>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/device/hand_written_kernels.h"
#include "tests/error_message.h"
#include "tuner/device/shared_library.h"

namespace mdh::libraries_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SharedLibraryTest, NamesWhatWasTried) {
  const auto library = SharedLibrary::Open({"libno-such.so.1", "libno-such.so"}, {"/nowhere"});
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorMessage(library),
            "there is no library libno-such.so.1 or libno-such.so, nor in /nowhere");
}

TEST(SharedLibraryTest, SaysWhyAFileIsNoLibrary) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/libbroken.so.1") << "no library";
  EXPECT_THAT(ErrorMessage(SharedLibrary::Open({"libbroken.so.1"}, {folder})),
              HasSubstr("libbroken.so.1: "));
}

TEST(SharedLibraryTest, NamesAFunctionThatIsMissing) {
  const auto library = SharedLibrary::Open({"libc.so.6"});
  ASSERT_TRUE(library.ok()) << library.status().message();
  int (*function)() = nullptr;
  EXPECT_EQ(ErrorMessage(library->Load("no_such_function", &function)),
            "libc.so.6 has no function no_such_function");
  int (*minus)(int) = nullptr;
  ASSERT_EQ(ErrorMessage(library->Load("abs", &minus)), "no error");
  EXPECT_EQ(minus(-3), 3);
  library->LoadIfPresent("abs", &minus);
  EXPECT_NE(minus, nullptr);
  library->LoadIfPresent("no_such_function", &minus);
  EXPECT_EQ(minus, nullptr);
}

TEST(DriversTest, SayThatTheirLibraryIsMissing) {
  CudaLibraries cuda;
  cuda.driver = {"libno-cuda.so.1"};
  const auto cuda_devices = FindCudaDevices(cuda);
  EXPECT_EQ(cuda_devices.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ErrorMessage(cuda_devices), HasSubstr("no library libno-cuda.so.1"));
  OpenClLibraries opencl;
  opencl.loader = {"libno-opencl.so.1"};
  EXPECT_THAT(ErrorMessage(FindOpenClDevices(opencl)), HasSubstr("no library libno-opencl.so.1"));
}

TEST(DriversTest, SayThatALibraryIsAnother) {
  CudaLibraries cuda;
  cuda.driver = {"libc.so.6"};
  EXPECT_EQ(ErrorMessage(FindCudaDevices(cuda)), "libc.so.6 has no function cuInit");
  OpenClLibraries opencl;
  opencl.loader = {"libc.so.6"};
  EXPECT_EQ(ErrorMessage(FindOpenClDevices(opencl)), "libc.so.6 has no function clGetPlatformIDs");
}

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<Nvrtc> nvrtc = Nvrtc::Load(Nvrtc::ToolkitFolders(""));
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    nvrtc_.emplace(*std::move(nvrtc));
  }
  std::optional<Nvrtc> nvrtc_;
};

TEST_F(NvrtcTest, CompilesForArchitecturesWithoutADevice) {
  const Kernel kernel = SumKernel(/*is_cuda=*/true);
  for (const int capability : {80, 90}) {
    const auto cubin = nvrtc_->Compile(kernel.source, "sum.cu", capability, {});
    ASSERT_TRUE(cubin.ok()) << cubin.status().message();
    EXPECT_THAT(*cubin, AllOf(HasSubstr("ELF"), HasSubstr("mdh_sum_1")));
    const auto ptx = nvrtc_->Compile(kernel.source, "sum.cu", capability, {}, Nvrtc::Output::kPtx);
    ASSERT_TRUE(ptx.ok()) << ptx.status().message();
    EXPECT_THAT(*ptx, HasSubstr(absl::StrCat(".target sm_", capability)));
  }
}

TEST_F(NvrtcTest, CompilesStagesThatStartEarly) {
  const std::string source = EarlyKernel().source;
  for (const int capability : {80, 90}) {
    const auto ptx = nvrtc_->Compile(source, "early.cu", capability, {}, Nvrtc::Output::kPtx);
    ASSERT_TRUE(ptx.ok()) << ptx.status().message();
    EXPECT_EQ(absl::StrContains(*ptx, "griddepcontrol.wait"), capability >= 90);
  }
}

TEST_F(NvrtcTest, GivesTheLog) {
  const auto cubin = nvrtc_->Compile("__global__ void f() { no_such_name; }", "bad.cu", 80, {});
  EXPECT_EQ(cubin.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorMessage(cubin), AllOf(HasSubstr("bad.cu(1)"), HasSubstr("no_such_name")));
}

TEST_F(NvrtcTest, NamesAnUnknownArchitectureOrOption) {
  EXPECT_THAT(ErrorMessage(nvrtc_->Compile("", "empty.cu", 7, {})), HasSubstr("nvrtc"));
  EXPECT_THAT(ErrorMessage(nvrtc_->Compile("", "empty.cu", 80, {"--no-such-option"})),
              HasSubstr("NVRTC_ERROR_INVALID_OPTION"));
}

}  // namespace
}  // namespace mdh::libraries_test
