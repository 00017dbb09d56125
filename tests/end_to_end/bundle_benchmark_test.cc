// The benchmark of bundles still runs: C++ and C, on a small bundle.
#include "gmock/gmock.h"
#include "tests/end_to_end/programs.h"
#include "tests/source_path.h"

namespace mdh::bundle_benchmark_test {
namespace {

using ::testing::HasSubstr;

TEST(BundleBenchmarkTest, ATryGivesFiguresAndAPage) {
  const TemporaryDirectory directory;
  const std::string json = directory.File("bundle.json");
  const Ended ended = RunProgram({ProgramPath("bundle_benchmark"), "--programs", BuildPath("bin"),
                                  "--expressions", SourcePath("client/expressions"), "--json", json,
                                  "--fact", "cpu=this", "--quick"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("C++, found"));
  EXPECT_THAT(ended.out, HasSubstr("C, found, from the text of the expression"));
  EXPECT_THAT(ReadFile(json), HasSubstr("\"cpu\": \"this\""));
  EXPECT_THAT(ReadFile(directory.File("bundle.md")), HasSubstr("# Lookups in a mapped bundle"));
}

TEST(BundleBenchmarkTest, WithoutExpressionsItSaysSo) {
  const Ended ended = RunProgram({ProgramPath("bundle_benchmark"), "--programs", "/nowhere",
                                  "--expressions", "/nowhere", "--quick"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("bundle_benchmark: error: "));
}

}  // namespace
}  // namespace mdh::bundle_benchmark_test
