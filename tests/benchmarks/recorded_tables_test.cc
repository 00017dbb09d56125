// Recorded tables with some decisions made already.
#include "tests/benchmarks/recorded_tables.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/source_path.h"

namespace mdh::recorded_tables_test {
namespace {

using ::testing::ElementsAre;

RecordedCosts Small() {
  const Result<RecordedCosts> table = RecordedCosts::Parse(
      "mdh recorded costs 1\nname small\nparameter lanes {1, 4}\nparameter layout_A_0 {0, 1}\n"
      "parameter parts_L1_i {1, 3}\nparameter layout_A_1 {0, 1}\nrows some 6\n"
      "0 900\n3 800\n7 500\n8 -\n11 300\n15 700\n");
  EXPECT_TRUE(table.ok()) << table.status();
  return *table;
}

TEST(RecordedTables, DecisionsAreWhatALineOfASchedulePins) {
  EXPECT_THAT(DecisionsOf(Small()), ElementsAre(ElementsAre(0), ElementsAre(1, 3), ElementsAre(2)));
}

TEST(RecordedTables, PinnedOnesHaveTheRowsThatAgreeWithTheFastest) {
  // The fastest row, of index 11, is lanes=4, layout 0 and 1, parts=3.
  const Result<RecordedCosts> pinned = WithPinned(Small(), {1, 3});
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(pinned->space().parameters().size(), 2U);
  EXPECT_THAT(pinned->costs(), ElementsAre(Cost(800), Cost(300)));
  EXPECT_EQ(pinned->best(), 300);
  EXPECT_EQ(WithPinned(Small(), {0, 1, 2})->costs().size(), 1U);
}

TEST(RecordedTables, AreReadByName) {
  const auto tables = ReadTables(SourcePath("tests/benchmarks/recorded"), "mat*");
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_EQ(tables->size(), 3U);
  EXPECT_EQ((*tables)[2].name(), "matvec_4096");
  EXPECT_FALSE(ReadTables(SourcePath("tests/benchmarks/recorded"), "none*").ok());
}

}  // namespace
}  // namespace mdh::recorded_tables_test
