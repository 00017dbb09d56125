// Where mdh-runner is: beside the tests in a package, else in the folder of the build.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "tests/source_path.h"

namespace mdh {

inline std::string RunnerProgram() {
  std::error_code error;
  const std::filesystem::path tests = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = tests.parent_path() / "mdh-runner";
  return std::filesystem::exists(beside, error) ? beside.string() : BuildPath("bin/mdh-runner");
}

}  // namespace mdh
