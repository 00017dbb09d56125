// The page of what campaigns about bounds have found.
#include "tests/bounds/campaign_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mdh::campaign_page_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BoundCheckReport Found(const std::string& device, int64_t measured, int64_t violations) {
  return {.device = device,
          .expressions = 3,
          .configurations = measured + 1,
          .measured = measured,
          .bounds = 100 * measured,
          .violations = violations,
          .shares = {.1, .25, .5}};
}

TEST(CampaignPage, AddsUpOverSeeds) {
  const std::string one = RowOf(Found("A", 40, 0), {.seed = 1, .points = 1000, .commit = "abc"});
  EXPECT_THAT(one, HasSubstr("| A | 1 | 1000 | abc |"));
  EXPECT_THAT(one, HasSubstr("| 40 | 3 | 4000 | 0 | 0 | 0.250 | 0.50 |\n"));
  const std::string two = RowOf(Found("A", 2, 1), {.seed = 2, .points = 1000});
  const std::string other = RowOf(Found("B", 7, 0), {.seed = 1, .points = 1000});
  const Result<std::string> first = CampaignPage("", one);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(*first, HasSubstr("\n| A | 1 | 40 | 4000 | 0 | 0 |\n"));
  const Result<std::string> all = CampaignPage(*first, two + other);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(*all, HasSubstr(one + two + other));
  EXPECT_THAT(*all, HasSubstr("\n| A | 2 | 42 | 4200 | 1 | 0 |\n| B | 1 | 7 | 700 | 0 | 0 |\n"));
}

TEST(CampaignPage, WhatIsThereCountsOnce) {
  const std::string row = RowOf(Found("A", 40, 0), {.seed = 1, .points = 1000});
  const Result<std::string> page = CampaignPage("", row);
  ASSERT_TRUE(page.ok()) << page.status();
  const Result<std::string> again = CampaignPage(*page, *page);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *page);
}

TEST(CampaignPage, NothingMeasuredHasNoShares) {
  EXPECT_THAT(RowOf({.device = "A"}, {}), HasSubstr("| 0 | 0 | 0 | 0 | 0 | 0.000 | 0.00 |"));
}

TEST(CampaignPage, RefusesRowsWithoutCounts) {
  const std::string row = "| A | 1 | 1 | c | 1 | 1 | many | 3 | 4 | 0 | 0 | 0.1 | 0.2 |\n";
  const Result<std::string> page = CampaignPage("", row);
  EXPECT_THAT(std::string(page.status().message()), HasSubstr("'many' is no count"));
  const Result<std::string> none = CampaignPage("", "| some | other | table |\n");
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(*none, Not(HasSubstr("some")));
}

}  // namespace
}  // namespace mdh::campaign_page_test
