// Names in kernels of random joint groups: passes over a whole stage tell by a name what is a
// thread's own and what all threads of a block share.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/fresh_seed.h"
#include "tests/property/block_pairs.h"
#include "tests/property/pipeline_pairs.h"

namespace mdh::joint_names_test {
namespace {

// Names that some function of the source declares both in local memory and otherwise.
std::set<std::string> NamesOfBoth(const std::string& source, int* shared_arrays) {
  static const std::regex kShared(R"(^\s*__local .*?(\w+)\[\d+\])");
  static const std::regex kOwn(R"(^\s*(?:const )?(?:\w+ )+(\w+)(?: = .*|\[\d+\]);)");
  std::set<std::string> both;
  for (const absl::string_view function : absl::StrSplit(source, "__kernel ")) {
    std::set<std::string> shared, own;
    for (const absl::string_view line : absl::StrSplit(function, '\n')) {
      std::cmatch match;
      if (std::regex_search(line.begin(), line.end(), match, kShared)) {
        shared.insert(match[1]);
      } else if (std::regex_search(line.begin(), line.end(), match, kOwn)) {
        own.insert(match[1]);
      }
    }
    *shared_arrays += static_cast<int>(shared.size());
    for (const std::string& name : shared) {
      if (own.contains(name)) both.insert(name);
    }
  }
  return both;
}

TEST(JointNames, SharedArraysAreCalledAsNothingElse) {
  BackendOptions options;
  options.backend = Backend::kPtx;
  if (const auto name = FindBackend(options); !name.ok()) GTEST_SKIP() << name.status().message();
  const auto opened = JudgedBackend::Open(options);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const uint64_t seed = FreshSeed();
  int shared_arrays = 0, groups = 0;
  for (int n = 0; n < 80; ++n) {
    auto pair = RandomPipelinePair(**opened, seed + n);
    ASSERT_TRUE(pair.ok()) << pair.status();
    if (!pair->has_value() || (*pair)->groups.empty()) continue;
    GenerateKernelOf(**opened, &**pair);
    if (!(*pair)->kernel.ok()) continue;
    ++groups;
    EXPECT_EQ(NamesOfBoth((*pair)->kernel->source, &shared_arrays), std::set<std::string>())
        << "seed " << seed + n << Reproduction(**pair);
  }
  EXPECT_GT(groups, 5);
  EXPECT_GT(shared_arrays, 5);
}

}  // namespace
}  // namespace mdh::joint_names_test
