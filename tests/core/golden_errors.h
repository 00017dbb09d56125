// Golden files of wrong texts and what a parser says of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/source_path.h"

namespace mdh {

// Expects that `error_of` says of every text of the file in tests/core/golden what stands behind
// it; returns how many there are. MDH_UPDATE_GOLDEN=1 in the environment rewrites the errors.
template <typename ErrorOf>
int CheckGoldenErrors(const std::string& name, const ErrorOf& error_of) {
  const std::string path = absl::StrCat(SourcePath("tests/core/golden/"), name);
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  const std::vector<std::string> parts = absl::StrSplit(content.str(), "==== ");
  const bool updates = std::getenv("MDH_UPDATE_GOLDEN") != nullptr;
  std::string updated;
  for (size_t n = 1; n < parts.size(); ++n) {
    const size_t line = parts[n].find('\n') + 1;
    const size_t behind = parts[n].find("---- error\n", line);
    const std::string title = parts[n].substr(0, line - 1);
    const std::string text = parts[n].substr(line, behind - line);
    const std::string error = absl::StrCat(error_of(text), "\n\n");
    absl::StrAppend(&updated, "==== ", title, "\n", text, "---- error\n", error);
    if (updates) continue;
    EXPECT_EQ(error, parts[n].substr(behind + 11)) << title << "\n" << text;
  }
  if (updates) std::ofstream(path) << updated;
  return static_cast<int>(parts.size()) - 1;
}

}  // namespace mdh
