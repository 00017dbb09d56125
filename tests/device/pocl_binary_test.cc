// What stands in for machine code that PoCL need not make.
#include "tuner/device/opencl/pocl_binary.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/server/temporary_directory.h"

namespace mdh::pocl_binary_test {
namespace {

namespace fs = std::filesystem;

std::string ContentOf(const fs::path& path) {
  std::stringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

Kernel TwoLaunches() {
  Kernel kernel;
  kernel.launches.resize(2);
  kernel.launches[0].function = "mdh_e_0";
  kernel.launches[0].geometry = {.grid = {10, 1, 1}, .block = {16, 2, 1}};
  kernel.launches[1].function = "mdh_e_1";
  kernel.launches[1].geometry = {.grid = {20000, 1, 1}, .block = {4, 1, 1}};
  return kernel;
}

TEST(PoclBinaryTest, SizesOfAllLaunchesAreNamed) {
  NamePoclSizes(TwoLaunches());
  EXPECT_STREQ(std::getenv("POCL_BINARY_SPECIALIZE_WG"), "16-2-1-goffs0-smallgrid,4-1-1-goffs0");
}

// As PoCL loads what it takes for its own.
TEST(PoclBinaryTest, StandInsAreLoaded) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("mdh_e_0.so");
  std::ofstream(path, std::ios::binary) << PoclStandIn("mdh_e_0");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  void* const function = dlsym(library, "_pocl_kernel_mdh_e_0_workgroup");
  ASSERT_NE(function, nullptr) << dlerror();
  EXPECT_EQ(dlsym(library, "_pocl_kernel_mdh_e_1_workgroup"), nullptr);
  EXPECT_DEATH(reinterpret_cast<void (*)()>(function)(), "");
  dlclose(library);
}

TEST(PoclBinaryTest, StandInsAreWhereNoLaunchNeedsCode) {
  const TemporaryDirectory directory;
  const fs::path folder = directory.File("pocl");
  const fs::path program = folder / "_UNCACHED_abc";
  fs::create_directories(program);
  StandInForPoclSizes(TwoLaunches(), folder);
  EXPECT_TRUE(fs::is_empty(program)) << "no program is built";
  std::ofstream(program / "program.bc") << "code";
  StandInForPoclSizes(TwoLaunches(), folder);
  EXPECT_EQ(ContentOf(program / "mdh_e_0/0-0-0/mdh_e_0.so"), PoclStandIn("mdh_e_0"));
  EXPECT_EQ(ContentOf(program / "mdh_e_1/0-0-0/mdh_e_1.so"), PoclStandIn("mdh_e_1"));
  EXPECT_TRUE(fs::exists(program / "mdh_e_0/4-1-1-goffs0/mdh_e_0.so"));
  EXPECT_TRUE(fs::exists(program / "mdh_e_1/16-2-1-goffs0-smallgrid/mdh_e_1.so"));
  EXPECT_FALSE(fs::exists(program / "mdh_e_0/16-2-1-goffs0-smallgrid"));
  EXPECT_FALSE(fs::exists(program / "mdh_e_1/4-1-1-goffs0"));
}

TEST(PoclBinaryTest, NothingIsDoneWhereTheProgramIsNotKnown) {
  const TemporaryDirectory directory;
  const fs::path folder = directory.File("pocl");
  for (const char* name : {"_UNCACHED_abc", "_UNCACHED_def"}) {
    fs::create_directories(folder / name);
    std::ofstream(folder / name / "program.bc") << "code";
  }
  StandInForPoclSizes(TwoLaunches(), folder);
  EXPECT_FALSE(fs::exists(folder / "_UNCACHED_abc/mdh_e_0"));
  EXPECT_FALSE(fs::exists(folder / "_UNCACHED_def/mdh_e_0"));
  StandInForPoclSizes(TwoLaunches(), directory.File("nothing"));
}

}  // namespace
}  // namespace mdh::pocl_binary_test
