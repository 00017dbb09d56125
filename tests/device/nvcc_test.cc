// nvcc: found or not, what it is called with, its errors, and the real one where there is a
// toolkit.
#include "tuner/device/cuda/nvcc.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tests/server/temporary_directory.h"

namespace mdh::nvcc_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NvccTest : public ::testing::Test {
 protected:
  // Of a shell script in place of the program.
  Nvcc Scripted(const std::string& script) const {
    const std::string path = directory_.File("nvcc");
    std::ofstream(path) << "#!/bin/sh\n" << script;
    chmod(path.c_str(), 0755);
    return *Nvcc::Find({"/nowhere", directory_.path()});
  }
  Result<std::string> Compile(const Nvcc& nvcc, const std::string& source) const {
    return nvcc.Compile(source, "mdh_test.cu", 90, {"--std=c++17"}, directory_.path());
  }
  // Folders of compilations that are left.
  int Left() const {
    int left = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      left += entry.is_directory() ? 1 : 0;
    }
    return left;
  }

  TemporaryDirectory directory_;
};

TEST_F(NvccTest, SaysWhereItIsNot) {
  const auto nvcc = Nvcc::Find({"/nowhere/bin", "/no/bin"});
  EXPECT_EQ(nvcc.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorMessage(nvcc), "there is no nvcc in /nowhere/bin, /no/bin");
  EXPECT_EQ(ErrorMessage(Nvcc::Find({})), "there is no nvcc");
  std::filesystem::create_directory(directory_.File("bin"));
  EXPECT_EQ(Nvcc::ToolkitFolders(directory_.path()).front(), directory_.File("bin"));
}

TEST_F(NvccTest, FilesWhoseReplacementIsNoticedAreThoseOfTheToolkit) {
  for (const char* name : {"bin/nvcc", "lib64/libnvrtc.so.12", "lib64/libcudart.so.12"}) {
    std::filesystem::create_directories(std::filesystem::path(directory_.File(name)).parent_path());
    std::ofstream(directory_.File(name)) << "";
  }
  const std::vector<std::string> files = FilesOfCudaCompilers(directory_.path());
  EXPECT_THAT(files, Contains(directory_.File("bin/nvcc")));
  EXPECT_THAT(files, Contains(directory_.File("lib64/libnvrtc.so.12")));
  EXPECT_THAT(files, Not(Contains(HasSubstr("cudart"))));
}

TEST_F(NvccTest, IsCalledWithArchitectureOptionsAndFile) {
  const Nvcc nvcc = Scripted("echo \"$1 $2 $3 $4\" > \"$5\"; cat \"$6\" >> \"$5\"\n");
  EXPECT_EQ(*Compile(nvcc, "source\n"), "-cubin --gpu-architecture=sm_90 --std=c++17 -o\nsource\n");
  EXPECT_EQ(Left(), 0);
}

TEST_F(NvccTest, ErrorsHaveItsLog) {
  const auto failed = Compile(Scripted("echo 'x.cu(1): error: nonsense'; exit 2\n"), "");
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorMessage(failed), AllOf(HasSubstr("exit status 2"), HasSubstr("nonsense")));
  EXPECT_THAT(ErrorMessage(Compile(Scripted("exit 0\n"), "")), HasSubstr("left no cubin"));
  EXPECT_THAT(ErrorMessage(Compile(Scripted("kill -9 $$\n"), "")),
              HasSubstr("was ended by signal 9"));
  const Nvcc gone = Scripted("exit 0\n");
  std::filesystem::remove(gone.path());
  EXPECT_THAT(ErrorMessage(Compile(gone, "")), StartsWith("cannot run "));
  EXPECT_EQ(Left(), 0);
  EXPECT_THAT(ErrorMessage(gone.Compile("", "a.cu", 90, {}, "/nowhere")),
              HasSubstr("cannot make a folder in /nowhere"));
}

TEST_F(NvccTest, TheRealOneMakesMachineCode) {
  const auto nvcc = Nvcc::Find(Nvcc::ToolkitFolders(""));
  if (!nvcc.ok()) GTEST_SKIP() << ErrorMessage(nvcc);
  const auto image =
      Compile(*nvcc, "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }");
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(*image, AllOf(StartsWith("\177ELF"), HasSubstr("twice")));
  EXPECT_THAT(ErrorMessage(Compile(*nvcc, "nonsense")), HasSubstr("error"));
}

}  // namespace
}  // namespace mdh::nvcc_test
