#include "core/scalar/free_names.h"

#include <gtest/gtest.h>

namespace mdh::free_names_test {
namespace {

TEST(FreeNamesTest, ResultsAreNamedBesideParameters) {
  const ScalarType type = ScalarType::kFloat32;
  const std::vector<TypedName> named =
      NamedBeside(std::vector<TypedName>{{"a", type}, {"b", type}, {"b_", type}},
                  {{"a", type}, {"b", type}, {"c", type}});
  ASSERT_EQ(named.size(), 3);
  EXPECT_EQ(named[0].name, "a_");
  EXPECT_EQ(named[1].name, "b__");
  EXPECT_EQ(named[2].name, "c");
}

}  // namespace
}  // namespace mdh::free_names_test
