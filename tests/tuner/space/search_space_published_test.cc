// Counts of published search spaces.
#include <gmock/gmock.h>

#include "tests/tuner/space/published_spaces.h"
#include "tuner/space/search_space.h"

namespace mdh::search_space_published_test {
namespace {

TEST(PublishedSpaces, HaveTheirCounts) {
  for (const PublishedSpace& published : PublishedSpaces()) {
    const Result<SearchSpace> space =
        SearchSpace::Create(published.parameters, ConstraintsOf(published));
    ASSERT_TRUE(space.ok()) << published.name << ": " << space.status();
    EXPECT_EQ(space->count().get_str(), published.count) << published.name;
    EXPECT_FALSE(space->is_lazy());
  }
}

TEST(PublishedSpaces, HaveTheirCountsInDeclaredOrder) {
  for (const PublishedSpace& published : PublishedSpaces()) {
    const Result<SearchSpace> space = SearchSpace::Create(
        published.parameters, ConstraintsOf(published), {.order = ParameterOrder::kDeclared});
    ASSERT_TRUE(space.ok()) << published.name << ": " << space.status();
    EXPECT_EQ(space->count().get_str(), published.count) << published.name;
  }
}

TEST(PublishedSpaces, HaveTheirCountsFromPredicates) {
  for (const PublishedSpace& published : PublishedSpaces()) {
    const Result<SearchSpace> space =
        SearchSpace::Create(published.parameters, published.predicates);
    ASSERT_TRUE(space.ok()) << published.name << ": " << space.status();
    EXPECT_EQ(space->count().get_str(), published.count) << published.name;
  }
}

}  // namespace
}  // namespace mdh::search_space_published_test
