// How lines are cut for prefix sums in registers.
#include "codegen/lower/scan/scan_cut.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace mdh::scan_cut_test {
namespace {

// "lines x groups x lanes x rounds x run, tiles".
std::string Cut(const ScanLines& lines, const ScanParameters& scan, bool moves_runs = true) {
  const ScanCut cut = CutLines(lines, scan, moves_runs);
  return absl::StrCat(cut.lines, " x ", cut.groups, " x ", cut.lanes, " x ", cut.rounds, " x ",
                      cut.run, ", ", cut.tiles);
}

TEST(ScanCutTest, LongLinesHaveAllThreads) {
  EXPECT_EQ(Cut({1, 1 << 24, false}, {256, 4, 4}), "1 x 8 x 32 x 4 x 4, 4096");
  EXPECT_EQ(Cut({7, 5000, false}, {256, 4, 4}), "1 x 8 x 32 x 4 x 4, 2");
  // Single elements instead of vectors.
  EXPECT_EQ(Cut({1, 1 << 24, false}, {256, 4, 4}, false), "1 x 8 x 32 x 16 x 1, 4096");
}

TEST(ScanCutTest, ShortLinesShareABlock) {
  EXPECT_EQ(Cut({1, 2048, false}, {256, 4, 4}), "1 x 8 x 32 x 2 x 4, 1");
  EXPECT_EQ(Cut({1000, 100, false}, {256, 4, 4}), "8 x 1 x 32 x 1 x 4, 1");
  EXPECT_EQ(Cut({1000, 10, false}, {256, 4, 2}), "32 x 1 x 8 x 1 x 2, 1");
  EXPECT_EQ(Cut({1000, 1, false}, {256, 4, 4}), "256 x 1 x 1 x 1 x 1, 1");
}

TEST(ScanCutTest, LinesBesideEachOtherAreForNeighbouringThreads) {
  EXPECT_EQ(Cut({4096, 4096, true}, {256, 4, 4}), "32 x 8 x 1 x 1 x 16, 32");
  EXPECT_EQ(Cut({3, 4096, true}, {256, 4, 4}), "4 x 64 x 1 x 1 x 16, 4");
  EXPECT_EQ(Cut({4096, 40, true}, {256, 4, 4}), "64 x 4 x 1 x 1 x 16, 1");
  EXPECT_EQ(Cut({4096, 3, true}, {256, 4, 4}), "256 x 1 x 1 x 1 x 4, 1");
  // Fewer lines than would be best, so that tiles have something to sum up.
  EXPECT_EQ(Cut({4096, 40, true}, {32, 1, 1}), "16 x 2 x 1 x 1 x 1, 20");
}

TEST(ScanCutTest, EveryElementIsOfOneThread) {
  for (const int threads : {32, 128, 1024}) {
    for (const int rounds : {1, 8}) {
      for (const int run : {1, 4}) {
        for (const int64_t size : {1, 2, 31, 33, 1000, 70'000}) {
          for (const bool beside : {false, true}) {
            const ScanCut cut = CutLines({beside ? 50 : 5, size, beside}, {threads, rounds, run},
                                         /*moves_runs=*/size % run == 0);
            EXPECT_EQ(cut.lines * cut.line_threads(), threads);
            EXPECT_LE(cut.points(), rounds * run);
            EXPECT_GE(cut.tiles * cut.tile(), size);
            EXPECT_LT((cut.tiles - 1) * cut.tile(), size);
            EXPECT_TRUE(cut.tile() > 1 || size == 1);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace mdh::scan_cut_test
