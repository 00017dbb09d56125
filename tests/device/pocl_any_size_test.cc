#include "tuner/device/opencl/pocl_any_size.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh::pocl_any_size_test {
namespace {

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

std::string TextOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Kernel WithFunctions(const std::vector<std::string>& functions) {
  Kernel kernel;
  for (const std::string& function : functions) kernel.launches.push_back({function, {}});
  return kernel;
}

// Folders as PoCL makes them.
class PoclAnySizeTest : public ::testing::Test {
 protected:
  // Of a program that is built.
  std::string Folder(const std::string& name) {
    const std::string folder = directory_.File(name);
    Write(folder + "/program.bc", "");
    return folder;
  }
  static std::string Library(const std::string& folder, const std::string& function) {
    return folder + "/" + function + "/0-0-0/" + function + ".so";
  }

  const TemporaryDirectory directory_;
  PoclAnySize any_size_{directory_.File("")};
};

TEST_F(PoclAnySizeTest, OnlyFunctionsThatAreNotKnownAreAskedFor) {
  const Kernel kernel = WithFunctions({"mdh_a_0", "mdh_a_1"});
  EXPECT_EQ(any_size_.SourceOfUnknown(kernel),
            "__kernel void mdh_a_0(void) {}\n__kernel void mdh_a_1(void) {}\n");
  Write(Library(Folder("_UNCACHED_1"), "mdh_a_0"), "library");
  any_size_.Keep(kernel);
  EXPECT_EQ(any_size_.SourceOfUnknown(kernel), "__kernel void mdh_a_1(void) {}\n");
}

TEST_F(PoclAnySizeTest, WhatWasKeptIsPutWherePoclLooksForIt) {
  const Kernel kernel = WithFunctions({"mdh_a_0", "mdh_a_1"});
  const std::string first = Folder("_UNCACHED_1");
  Write(Library(first, "mdh_a_0"), std::string("a\0b", 3));
  Write(directory_.File("tempfile_2"), "");
  any_size_.Keep(kernel);
  std::filesystem::remove_all(first);
  const std::string second = Folder("_UNCACHED_2");
  any_size_.Provide(kernel);
  EXPECT_EQ(TextOf(Library(second, "mdh_a_0")), std::string("a\0b", 3));
  EXPECT_FALSE(std::filesystem::exists(Library(second, "mdh_a_1")));
}

TEST_F(PoclAnySizeTest, NothingIsPutWhereTheProgramsFolderIsNotKnown) {
  const Kernel kernel = WithFunctions({"mdh_a_0"});
  any_size_.Keep(kernel);
  any_size_.Provide(kernel);
  const std::string first = Folder("_UNCACHED_1");
  Write(Library(first, "mdh_a_0"), "library");
  any_size_.Keep(kernel);
  const std::string second = Folder("_UNCACHED_2"), third = Folder("_UNCACHED_3");
  any_size_.Provide(kernel);
  EXPECT_FALSE(std::filesystem::exists(Library(second, "mdh_a_0")));
  EXPECT_FALSE(std::filesystem::exists(Library(third, "mdh_a_0")));
  PoclAnySize nowhere{""};
  nowhere.Keep(kernel);
  nowhere.Provide(kernel);
  EXPECT_NE(nowhere.SourceOfUnknown(kernel), "");
}

}  // namespace
}  // namespace mdh::pocl_any_size_test
