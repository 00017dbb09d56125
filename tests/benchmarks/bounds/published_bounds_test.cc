#include "tests/benchmarks/bounds/published_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/source_path.h"

namespace mdh::published_bounds_test {
namespace {

using ::testing::HasSubstr;

std::vector<PublishedResults> Published() {
  Result<std::vector<PublishedResults>> results = ReadPublishedBounds(SourcePath());
  EXPECT_TRUE(results.ok()) << results.status();
  return *std::move(results);
}

TEST(PublishedBounds, NothingThatWasEverMeasuredExceedsARate) {
  size_t rows = 0, bounded = 0;
  for (const PublishedResults& results : Published()) {
    for (const PublishedRow& row : results.rows) {
      ++rows;
      if (!row.bound.floors.empty()) ++bounded;
      EXPECT_LE(row.bound.time_ns(), row.time_ns)
          << results.file << " " << row.name << "\n"
          << (row.bound.floors.empty() ? "" : row.bound.floors.front().reason);
    }
  }
  EXPECT_GT(rows, 180);
  EXPECT_GT(bounded, 150);
}

TEST(PublishedBounds, ThePageHasEveryRow) {
  const std::vector<PublishedResults> published = Published();
  const std::string page = BoundsPage(published);
  for (const PublishedResults& results : published) {
    EXPECT_THAT(page, HasSubstr("\n## " + results.file + "\n"));
    for (const PublishedRow& row : results.rows)
      EXPECT_THAT(page, HasSubstr("| " + row.name + " |"));
  }
}

}  // namespace
}  // namespace mdh::published_bounds_test
