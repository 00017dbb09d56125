// Golden files of this folder. MDH_UPDATE_GOLDEN=1 in the environment rewrites them; review their
// diff like code.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/source_path.h"

namespace mdh {

inline void ExpectGoldenFile(const std::string& name, const std::string& text) {
  const std::string path = SourcePath("tests/codegen/golden/") + name;
  if (std::getenv("MDH_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  std::ifstream in(path);
  std::stringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

}  // namespace mdh
