#include "client/report/parameter_importance.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::parameter_importance_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ParameterColumn Column(const std::string& name, const std::vector<std::string>& cells) {
  ParameterColumn column{.name = name, .values = {}, .cells = {}};
  for (const std::string& cell : cells) {
    const auto found = std::find(column.values.begin(), column.values.end(), cell);
    column.cells.push_back(static_cast<int>(found - column.values.begin()));
    if (found == column.values.end()) column.values.push_back(cell);
  }
  return column;
}

TEST(ParameterColumnsTest, TablesAreTakenApartAndConstantsLeftOut) {
  const ParameterNames names = {
      .dimensions = {"i", "k"}, .inputs = {"M", "v"}, .layers = {"COR", "MM"}};
  const std::vector<ParameterColumn> columns =
      SplitParameters({"model=X; tile=8,4|2,1; order=0,1|1,0; inputs=a|b",
                       "model=X; tile=8,2|2,1; order=1,0|1,0; inputs=a|c; unroll=8"},
                      names);
  ASSERT_THAT(columns, SizeIs(4));
  EXPECT_EQ(columns[0].name, "tile COR k");
  EXPECT_THAT(columns[0].values, ElementsAre("4", "2"));
  EXPECT_EQ(columns[1].name, "order COR");
  EXPECT_THAT(columns[1].values, ElementsAre("i,k", "k,i"));
  EXPECT_EQ(columns[2].name, "inputs v");
  EXPECT_EQ(columns[3].name, "unroll");
  EXPECT_THAT(columns[3].cells, ElementsAre(-1, 0));
}

TEST(ParameterColumnsTest, AnythingIsAccepted) {
  EXPECT_THAT(SplitParameters({"", "=", ";;", "tile=|,|", "x"}, {}), testing::Not(IsEmpty()));
  EXPECT_THAT(SplitParameters({}, {}), IsEmpty());
}

TEST(ParameterImportanceTest, WhatDecidesTheTimeExplainsIt) {
  std::vector<std::string> decides, does_not;
  std::vector<int64_t> times_ns;
  for (int n = 0; n < 40; ++n) {
    decides.push_back(n % 2 == 0 ? "fast" : "slow");
    does_not.push_back(n / 2 % 2 == 0 ? "x" : "y");
    times_ns.push_back((n % 2 == 0 ? 1000 : 4000) + n);
  }
  const auto ranking =
      RankParameters({Column("does not", does_not), Column("decides", decides)}, times_ns);
  ASSERT_THAT(ranking, testing::Not(IsEmpty()));
  EXPECT_EQ(ranking[0].column, 1);
  EXPECT_GT(ranking[0].share, 0.99);
  ASSERT_THAT(ranking[0].groups, SizeIs(2));
  EXPECT_EQ(ranking[0].groups[0].values, "fast");
  EXPECT_EQ(ranking[0].groups[0].trials, 20);
  EXPECT_EQ(ranking[0].groups[0].median_ns, 1020);
  EXPECT_THAT(ranking, SizeIs(1));
}

TEST(ParameterImportanceTest, ManyNumbersArePutIntoEightGroups) {
  std::vector<std::string> numbers;
  std::vector<int64_t> times_ns;
  for (int n = 0; n < 80; ++n) {
    numbers.push_back(std::to_string(n));
    times_ns.push_back(1000 * (n + 1));
  }
  const auto ranking = RankParameters({Column("n", numbers)}, times_ns);
  ASSERT_THAT(ranking, SizeIs(1));
  ASSERT_THAT(ranking[0].groups, SizeIs(8));
  EXPECT_EQ(ranking[0].groups[0].values, "0 to 9");
  EXPECT_EQ(ranking[0].groups[7].values, "70 to 79");
  EXPECT_EQ(ranking[0].groups[7].trials, 10);
}

TEST(ParameterImportanceTest, AValueOfItsOwnForEveryTrialExplainsNothing) {
  std::vector<std::string> names;
  std::vector<int64_t> times_ns;
  for (int n = 0; n < 20; ++n) {
    names.push_back("value " + std::to_string(n));
    times_ns.push_back(1000 + 37 * (n * 7 % 20));
  }
  EXPECT_THAT(RankParameters({Column("name", names)}, times_ns), IsEmpty());
}

TEST(ParameterImportanceTest, FewOrFailedTrialsTellNothing) {
  const ParameterColumn column = Column("x", std::vector<std::string>(16, "a"));
  EXPECT_THAT(RankParameters({column}, std::vector<int64_t>(16, 5)), IsEmpty());
  std::vector<int64_t> times_ns(16, 0);
  for (int n = 0; n < 7; ++n) times_ns[n] = n + 1;
  EXPECT_THAT(RankParameters({Column("y", {"a", "b", "a", "b", "a", "b", "a", "b", "a", "b", "a",
                                           "b", "a", "b", "a", "b"})},
                             times_ns),
              IsEmpty());
}

}  // namespace
}  // namespace mdh::parameter_importance_test
