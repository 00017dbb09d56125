// One configuration of a space, and spaces that are given up or may not be lazy.
#include <gtest/gtest.h>

#include <vector>

#include "tests/error_message.h"
#include "tuner/space/search_space.h"

namespace mdh::find_one_test {
namespace {

constexpr int64_t kValues = 300;

std::vector<TuningParameter> Parameters() {
  std::vector<TuningParameter> parameters;
  for (const char* name : {"a", "b", "c", "d"}) {
    parameters.push_back({name, *Range::Interval(1, kValues)});
  }
  return parameters;
}

Formula At(const char* name) { return Formula::Parameter(name); }

// No square leaves 2 when it is divided by 3; bounds do not tell, so all prefixes are tried.
std::vector<Constraint> Impossible() {
  const Formula sum = At("a") * 901 + At("b") * 30 + At("c");
  return {{"square", (sum * sum + At("d") * 3) % 3 == 2}};
}

TEST(FindOneTest, FindsWhatFewPrefixesLeadTo) {
  const std::vector<Constraint> constraints = {
      {"one", At("a") * At("b") * At("c") == Formula(int64_t{299} * 293 * 283)},
      {"other", At("d") == At("a") + 1}};
  const Result<Configuration> one = SearchSpace::FindOne(Parameters(), constraints);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ((*one)[0] * (*one)[1] * (*one)[2], int64_t{299} * 293 * 283);
  EXPECT_EQ((*one)[3], (*one)[0] + 1);
}

TEST(FindOneTest, TellsThatThereIsNone) {
  EXPECT_TRUE(absl::IsFailedPrecondition(
      SearchSpace::FindOne(Parameters(), {{"none", At("a") * At("b") == 89989}}).status()));
}

TEST(FindOneTest, SaysThatMemoryDoesNotTell) {
  const Result<Configuration> one =
      SearchSpace::FindOne(Parameters(), Impossible(), {.max_bytes = 1});
  EXPECT_TRUE(absl::IsResourceExhausted(one.status())) << one.status();
  EXPECT_EQ(ErrorMessage(one), "the search space needs more than 1 bytes");
}

TEST(FindOneTest, AndConstructionAreGivenUp) {
  const SpaceOptions given_up = {.gives_up = [] { return true; }};
  const Result<Configuration> one = SearchSpace::FindOne(Parameters(), {}, given_up);
  EXPECT_TRUE(absl::IsCancelled(one.status())) << one.status();
  const Result<SearchSpace> space = SearchSpace::Create(Parameters(), Impossible(), given_up);
  EXPECT_TRUE(absl::IsCancelled(space.status())) << space.status();
  EXPECT_EQ(ErrorMessage(space), "the search space is not wanted any more");
}

// Within a level, too, and with several threads.
TEST(FindOneTest, LongLevelsAreGivenUp) {
  for (const int threads : {1, 2}) {
    int asked = 0;
    const Result<SearchSpace> space =
        SearchSpace::Create(Parameters(), Impossible(),
                            {.threads = threads, .gives_up = [&asked] { return ++asked > 6; }});
    EXPECT_TRUE(absl::IsCancelled(space.status())) << space.status();
    EXPECT_EQ(asked, 7);
  }
}

TEST(FindOneTest, WhatMayNotBeLazyIsRefused) {
  const Result<SearchSpace> space =
      SearchSpace::Create(Parameters(), {{"sum", At("a") * At("b") + At("c") <= At("d") * 100}},
                          {.max_bytes = 1, .may_be_lazy = false});
  EXPECT_TRUE(absl::IsResourceExhausted(space.status())) << space.status();
}

}  // namespace
}  // namespace mdh::find_one_test
