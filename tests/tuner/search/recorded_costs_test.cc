#include "tuner/search/recorded_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "tests/tuner/search/recorded_spaces.h"
#include "tuner/search/range_text.h"
#include "tuner/search/replay.h"

namespace mdh::recorded_costs_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Row = RecordedCosts::Row;

// All configurations of the small space, or every n-th; some fail.
std::vector<Row> RowsOf(const SearchSpace& space, int every = 1) {
  std::vector<Row> rows;
  int n = 0;
  space.Enumerate([&](const Configuration& configuration) {
    if (n++ % every != 0) return true;
    const Cost cost = configuration[1] == 16 ? Cost() : Cost(ValleyCost(configuration));
    rows.push_back({configuration, cost});
    return true;
  });
  return rows;
}

RecordedCosts TableOf(const SearchSpace& space, std::vector<Row> rows) {
  Result<RecordedCosts> table = RecordedCosts::Create("valley", space, std::move(rows));
  EXPECT_TRUE(table.ok()) << table.status();
  if (!table.ok()) std::abort();
  return *std::move(table);
}

// Same costs of the same configurations, up to rounding.
void ExpectSame(const RecordedCosts& a, const RecordedCosts& b) {
  EXPECT_EQ(a.name(), b.name());
  ASSERT_EQ(a.costs().size(), b.costs().size());
  a.space().Enumerate([&](const Configuration& configuration) {
    EXPECT_TRUE(b.space().Contains(configuration));
    const Cost x = a.CostOf(configuration);
    const Cost y = b.CostOf(configuration);
    EXPECT_EQ(x.has_value(), y.has_value());
    if (x && y) {
      EXPECT_NEAR(*x, *y, std::abs(*x) * 5e-4);
    }
    return true;
  });
}

TEST(RecordedCostsTest, WholeSpaceIsWrittenAndReadBack) {
  const SearchSpace space = SmallSpace();
  const RecordedCosts table = TableOf(space, RowsOf(space));
  EXPECT_EQ(table.best(), 100);
  const Result<std::string> text = table.ToText();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, StartsWith("mdh recorded costs 1\n"
                                "name valley\n"
                                "parameter OUTER {1, 2, 4, 8, 16}\n"
                                "parameter INNER {1, 2, 4, 8, 16}\n"
                                "parameter ORDER permutations of \"i\", \"j\", \"k\"\n"
                                "parameter MODE {\"none\"}\n"
                                "constraint divides(INNER, OUTER)\n"
                                "rows all 90\n"
                                "299\n"));
  EXPECT_THAT(*text, HasSubstr("\n-\n"));
  const Result<RecordedCosts> read = RecordedCosts::Parse(*text);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(table, *read);
  EXPECT_EQ(*read->ToText(), *text);
}

TEST(RecordedCostsTest, PartOfASpaceIsASpaceOfItsOwn) {
  const SearchSpace space = SmallSpace();
  const RecordedCosts table = TableOf(space, RowsOf(space, 7));
  EXPECT_EQ(table.space().count(), 13);
  const Result<std::string> text = table.ToText();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("rows some 13\n0 299\n7 "));
  const Result<RecordedCosts> read = RecordedCosts::Parse(*text);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(table, *read);
  const Result<std::vector<Cost>> trace = Replay(*read, {.technique = "annealing"}, 1000, -1);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->size(), 13u);
}

TEST(RecordedCostsTest, RestrictedAndReorderedSpaces) {
  const SearchSpace space = SmallSpace();
  const Result<SearchSpace> restricted = space.Restrict({{"OUTER", {2, 8}}});
  ASSERT_TRUE(restricted.ok());
  const RecordedCosts table = TableOf(*restricted, RowsOf(*restricted));
  EXPECT_EQ(table.costs().size(), 36u);
  const Result<std::string> text = table.ToText();
  ASSERT_TRUE(text.ok());
  const Result<RecordedCosts> read = RecordedCosts::Parse(*text);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(table, *read);
}

TEST(RecordedCostsTest, ReplayStopsAtWhatIsEnough) {
  const SearchSpace space = SmallSpace();
  const RecordedCosts table = TableOf(space, RowsOf(space));
  const Result<std::vector<Cost>> trace = Replay(table, {.technique = "random"}, 1000, 110);
  ASSERT_TRUE(trace.ok());
  ASSERT_LT(trace->size(), 90u);
  EXPECT_LE(*trace->back(), 110);
  EXPECT_EQ(Replay(table, {.technique = "random"}, 5, 0)->size(), 5u);
  EXPECT_FALSE(Replay(table, {.technique = "magic"}, 5, 0).ok());
}

TEST(RecordedCostsTest, ErrorsOfCreate) {
  const SearchSpace space = SmallSpace();
  const auto error = [&space](std::vector<Row> rows) {
    return std::string(RecordedCosts::Create("t", space, std::move(rows)).status().message());
  };
  EXPECT_THAT(error({}), HasSubstr("there are no costs"));
  EXPECT_THAT(error({{{1, 2, 3}, 1.0}}), HasSubstr("not in the space"));
  EXPECT_THAT(error({{{1, 2, 0, 0}, 1.0}}), HasSubstr("not in the space"));
  EXPECT_THAT(error({{{2, 2, 0, 0}, 1.0}, {{2, 2, 0, 0}, 2.0}}), HasSubstr("recorded twice: "));
  EXPECT_THAT(error({{{2, 2, 0, 0}, std::nan("")}}), HasSubstr("the cost is not finite: "));
}

TEST(RecordedCostsTest, PredicatesAndLazySpacesCannotBeWritten) {
  Predicate even;
  even.text = "even";
  even.holds = [](absl::Span<const int64_t> codes) { return codes[0] % 2 == 0; };
  const SearchSpace space =
      SpaceOf({{"A", *Range::Interval(1, 4)}}, {Formula::Of(std::move(even), {"A"})});
  const RecordedCosts table = TableOf(space, {{{2}, 1.0}, {{4}, 2.0}});
  EXPECT_THAT(table.ToText().status().message(), HasSubstr("without a text"));
}

TEST(RecordedCostsTest, ErrorsOfTextNameTheLine) {
  const auto error = [](const std::string& text) {
    const Result<RecordedCosts> table = RecordedCosts::Parse(text);
    return table.ok() ? "accepted" : std::string(table.status().message());
  };
  const std::string first = "mdh recorded costs 1\n";
  const std::string head = first + "parameter A 1..3\n";
  EXPECT_EQ(error(""), "line 0: 'mdh recorded costs 1' is expected");
  EXPECT_EQ(error("costs\n"), "line 1: 'mdh recorded costs 1' is expected");
  EXPECT_THAT(error(first + "size 3\n"), HasSubstr("line 2: 'size' is unknown; there are name"));
  EXPECT_THAT(error(first + "parameter A 1-3\n"), HasSubstr("line 2: '1-3' is no range"));
  EXPECT_THAT(error(first + "parameter A {1, 1}\n"), HasSubstr("line 2: "));
  EXPECT_THAT(error(first + "parameter A {1, B}\n"), HasSubstr("'B' is no range"));
  EXPECT_THAT(error(first + "parameter A {1\n"), HasSubstr("is no range"));
  EXPECT_THAT(error(first + "parameter A permutations of 1, 2\n"), HasSubstr("is no range"));
  EXPECT_THAT(error(head + "constraint A <\n"), HasSubstr("line 3: "));
  EXPECT_THAT(error(head + "constraint B < 2\nrows all 1\n"), HasSubstr("B"));
  EXPECT_THAT(error(head + "constraint A > 3\nrows all 1\n"), HasSubstr("line 4: "));
  EXPECT_EQ(error(head), "line 2: the file ends before 'rows'");
  EXPECT_THAT(error(head + "rows 3\n"), HasSubstr("line 3: 'rows all N' or 'rows some N'"));
  EXPECT_THAT(error(head + "rows all 0\n"), HasSubstr("line 3: 'rows all N'"));
  EXPECT_EQ(error(head + "rows all 4\n"), "line 3: the space has 3 configurations, not 4");
  EXPECT_EQ(error(head + "rows all 3\n1\n2\n"), "line 5: the file ends after 2 of 3 rows");
  EXPECT_EQ(error(head + "rows all 3\n1\n2\n3\n4\n"), "line 7: more than 3 rows");
  EXPECT_EQ(error(head + "rows all 3\n1\nx\n3\n"), "line 5: 'x' is no cost");
  EXPECT_EQ(error(head + "rows all 3\n1\ninf\n3\n"), "line 5: 'inf' is no cost");
  EXPECT_EQ(error(head + "rows some 1\n5\n"), "line 4: the space has only 3 configurations");
  EXPECT_EQ(error(head + "rows some 1\n1\n"), "line 4: '' is no cost");
  EXPECT_EQ(error(head + "rows some 1\n-1 2\n"), "line 4: an index and a cost are expected");
  EXPECT_EQ(error(head + "rows some 2\n1 2\n1 3\n"), "line 5: index 1 is repeated");
  EXPECT_EQ(error(head + "# a remark\n\nrows all 3\r\n1\r\n-\r\n2.5e3\n"), "accepted");
}

TEST(RecordedCostsTest, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "recorded_costs_test.costs";
  std::ofstream(path) << "mdh recorded costs 1\nparameter A 1..3\nrows all 3\n1\n2\n";
  const Status broken = RecordedCosts::Read(path).status();
  EXPECT_EQ(broken.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(broken.message(), path + ", line 5: the file ends after 2 of 3 rows");
  std::ofstream(path, std::ios::app) << "3\n";
  EXPECT_TRUE(RecordedCosts::Read(path).ok());
  std::remove(path.c_str());
  EXPECT_EQ(RecordedCosts::Read(path).status().code(), absl::StatusCode::kNotFound);
}

TEST(RangeTextTest, EveryRangeReadsBack) {
  for (const Range& range :
       {*Range::Interval(-3, 1000000), *Range::Interval(0, 10, 5), IntegersOf({5, 3, 4}),
        Range::Bool(), *Range::Of({Value(0.5), Value(-2.0)}), *Range::Permutations({"a, b", "c"}),
        *Range::Of({Value(std::string("a,b")), Value(std::string("\"'\\"))})}) {
    const std::string text = RangeToText(range);
    const Result<Range> read = ParseRange(text);
    ASSERT_TRUE(read.ok()) << text << ": " << read.status();
    EXPECT_EQ(RangeToText(*read), text);
    ASSERT_EQ(read->size(), range.size());
    for (uint32_t i = 0; i < range.size(); ++i) EXPECT_EQ(read->CodeAt(i), range.CodeAt(i));
  }
}

}  // namespace
}  // namespace mdh::recorded_costs_test
