// Bounds beside costs that were recorded.
#include "tests/benchmarks/bounds/recorded_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/source_path.h"

namespace mdh::recorded_bounds_test {
namespace {

using ::testing::HasSubstr;

TEST(RecordedBounds, NothingThatWasRecordedIsFasterThanItsBound) {
  const Result<std::vector<RecordedBounds>> tables =
      ReadRecordedBounds(SourcePath(), kChosenOn, 3e9);
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_EQ(tables->size(), 5u);
  const std::string page = RecordedBoundsPage(*tables);
  for (const RecordedBounds& table : *tables) {
    EXPECT_EQ(table.violations, 0) << table.name;
    EXPECT_GT(table.pinned, 0) << table.name;
    EXPECT_GT(table.left, 0) << table.name;
    EXPECT_GT(table.of_best, table.median) << table.name;
    EXPECT_THAT(page, HasSubstr("| " + table.name + " |"));
  }
  // Nothing without vectors can be the best, nor what has vectors that are not full.
  for (const size_t n : {0, 1, 3}) EXPECT_LT((*tables)[n].share_left(), 0.75) << n;
  EXPECT_EQ((*tables)[2].name, "matmul_10_500_64");
  EXPECT_LT((*tables)[2].share_left(), 0.4);
}

// Of tables that say all parameters nearly every row is known.
TEST(RecordedBounds, HoldForTablesOnWhichNothingWasChosen) {
  const Result<std::vector<RecordedBounds>> tables =
      ReadRecordedBounds(SourcePath(), kHeldOut, 3.5e9);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_GE(tables->size(), 3u);
  for (const RecordedBounds& table : *tables) {
    EXPECT_EQ(table.violations, 0) << table.name;
    EXPECT_GT(table.pinned, table.rows / 2) << table.name;
  }
}

TEST(RecordedBounds, ClocksThatNoProcessorHasAreContradicted) {
  const Result<std::vector<RecordedBounds>> tables =
      ReadRecordedBounds(SourcePath(), kChosenOn, 0.5e9);
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_GT((*tables)[2].violations, 0);
}

TEST(RecordedBounds, WithoutTablesThereAreNone) {
  EXPECT_FALSE(ReadRecordedBounds("/nowhere", kChosenOn, 3e9).ok());
  EXPECT_THAT(RecordedBoundsPage({}), HasSubstr("| recorded table |"));
}

}  // namespace
}  // namespace mdh::recorded_bounds_test
