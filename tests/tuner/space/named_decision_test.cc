// Decisions by names.
#include "tuner/space/named_decision.h"

#include <gmock/gmock.h>

namespace mdh::named_decision_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SearchSpace Space() {
  return *SearchSpace::Create(
      {{"WPT", *Range::Integers({1, 2, 4, 8})},
       {"x", *Range::Of({Value(0.5), Value(2.0)})},
       {"mode", *Range::Of({Value(std::string("fast")), Value(std::string("slow"))})},
       {"on", Range::Bool()},
       {"order", *Range::Permutations({"i", "j"})},
       {"n", *Range::Interval(0, 1'000'000'000, 10)}},
      {});
}

std::vector<int64_t> CodesOf(const std::string& parameter, const std::vector<std::string>& values) {
  const NamedDecision decision = {parameter, values};
  const auto read = ReadDecisions(Space(), {&decision, 1});
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? (*read)[0].codes : std::vector<int64_t>();
}

TEST(NamedDecision, ReadsValuesOfAllTypes) {
  EXPECT_THAT(CodesOf("WPT", {"8", "2"}), ElementsAre(8, 2));
  EXPECT_THAT(CodesOf("x", {"2.0"}), ElementsAre(1));
  EXPECT_THAT(CodesOf("mode", {"slow", "\"fast\""}), ElementsAre(1, 0));
  EXPECT_THAT(CodesOf("on", {"true"}), ElementsAre(1));
  EXPECT_THAT(CodesOf("order", {"[\"j\", \"i\"]"}), ElementsAre(1));
  EXPECT_THAT(CodesOf("n", {"999999990"}), ElementsAre(999'999'990));
}

TEST(NamedDecision, TextsReadBack) {
  const SearchSpace space = Space();
  for (const TuningParameter& parameter : space.parameters()) {
    for (uint32_t n = 0; n < std::min<uint32_t>(parameter.range.size(), 5); ++n) {
      const int64_t code = parameter.range.CodeAt(n);
      const Result<int64_t> read = CodeNamed(parameter, ValueText(parameter, code));
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(*read, code);
    }
  }
  const ValueNames names = {"one", "two", "four", "eight"};
  EXPECT_EQ(ValueText(space.parameters()[0], 4, names), "four");
  EXPECT_EQ(*CodeNamed(space.parameters()[0], "eight", names), 8);
  EXPECT_EQ(*CodeNamed(space.parameters()[0], "8", names), 8);
}

TEST(NamedDecision, SaysWhatThereIs) {
  const auto error_of = [](const std::string& parameter, const std::vector<std::string>& values) {
    const NamedDecision decision = {parameter, values};
    const Status status = ReadDecisions(Space(), {&decision, 1}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(error_of("wpt", {"1"}),
            "no parameter is named 'wpt'; there are WPT, x, mode, on, order, n");
  EXPECT_EQ(error_of("WPT", {"3"}), "parameter 'WPT' has no value '3'; it has 1, 2, 4, 8");
  EXPECT_EQ(error_of("mode", {"3"}),
            "parameter 'mode' has no value '3'; it has \"fast\", \"slow\"");
  EXPECT_THAT(error_of("n", {"5"}), HasSubstr("it has 0..1000000000 step 10"));
  EXPECT_THAT(error_of("n", {}), HasSubstr("names no value"));
}

}  // namespace
}  // namespace mdh::named_decision_test
