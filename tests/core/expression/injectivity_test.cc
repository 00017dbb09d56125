// The decision about double writes against trying all pairs of points.
#include "core/expression/injectivity.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "tests/random_expression.h"

namespace mdh::injectivity_test {
namespace {

using Point = std::vector<int64_t>;

std::vector<Point> AllPoints(const std::vector<int64_t>& sizes) {
  std::vector<Point> points = {{}};
  for (int64_t size : sizes) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (int64_t i = 0; i < size; ++i) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    }
    points = std::move(longer);
  }
  return points;
}

Point Image(const IndexFunction& access, const Point& point) {
  Point image;
  for (const AffineIndex& index : access.indices) image.push_back(index.Evaluate(point));
  return image;
}

bool SelfCollides(const IndexFunction& access, const std::vector<int64_t>& sizes) {
  std::map<Point, int> writes;
  for (const Point& point : AllPoints(sizes)) {
    if (++writes[Image(access, point)] > 1) return true;
  }
  return false;
}

bool Collide(const IndexFunction& a, const IndexFunction& b, const std::vector<int64_t>& sizes) {
  std::map<Point, int> images;
  for (const Point& point : AllPoints(sizes)) images[Image(a, point)] = 1;
  for (const Point& point : AllPoints(sizes)) {
    if (images.count(Image(b, point)) > 0) return true;
  }
  return false;
}

bool InBox(const Point& point, const std::vector<int64_t>& sizes) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (point[d] < 0 || point[d] >= sizes[d]) return false;
  }
  return true;
}

constexpr int64_t kSteps = 100'000;

// All index functions of rank 1 on two dimensions with small coefficients and sizes.
TEST(InjectivityTest, AllSmallIndexFunctionsOfTwoDimensions) {
  for (int64_t a = -4; a <= 4; ++a) {
    for (int64_t b = -4; b <= 4; ++b) {
      for (const Point& size : AllPoints({5, 5})) {
        const std::vector<int64_t> sizes = {size[0] + 1, size[1] + 1};
        const IndexFunction access{{{{a, b}, 3}}};
        int64_t steps = kSteps;
        const Result<std::optional<Collision>> collision = FindSelfCollision(access, sizes, &steps);
        ASSERT_TRUE(collision.ok());
        ASSERT_EQ(collision->has_value(), SelfCollides(access, sizes))
            << a << "*i + " << b << "*j on " << sizes[0] << " x " << sizes[1];
      }
    }
  }
}

IndexFunction RandomAccess(Rng& rng, int rank, int dimensions) {
  IndexFunction access;
  for (int x = 0; x < rank; ++x) {
    AffineIndex index{{}, Below(rng, 7) - 3};
    for (int d = 0; d < dimensions; ++d) index.coefficients.push_back(Below(rng, 9) - 4);
    access.indices.push_back(std::move(index));
  }
  return access;
}

void CheckCollision(const Collision& collision, const IndexFunction& a, const IndexFunction& b,
                    const std::vector<int64_t>& sizes) {
  EXPECT_TRUE(InBox(collision.first, sizes));
  EXPECT_TRUE(InBox(collision.second, sizes));
  EXPECT_EQ(Image(a, collision.first), Image(b, collision.second));
}

TEST(InjectivityTest, RandomIndexFunctionsAgreeWithBruteForce) {
  Rng rng(7);
  int collisions = 0;
  for (int n = 0; n < 3000; ++n) {
    const int dimensions = 1 + static_cast<int>(Below(rng, 3));
    const int rank = static_cast<int>(Below(rng, 4));
    std::vector<int64_t> sizes;
    for (int d = 0; d < dimensions; ++d) sizes.push_back(1 + Below(rng, 5));
    const IndexFunction a = RandomAccess(rng, rank, dimensions);
    IndexFunction b = a;
    if (Below(rng, 2) == 0)
      b = RandomAccess(rng, rank, dimensions);
    else
      for (AffineIndex& index : b.indices) index.constant += Below(rng, 5) - 2;

    int64_t steps = kSteps;
    const Result<std::optional<Collision>> self = FindSelfCollision(a, sizes, &steps);
    ASSERT_TRUE(self.ok());
    ASSERT_EQ(self->has_value(), SelfCollides(a, sizes)) << n;
    if (self->has_value()) {
      CheckCollision(**self, a, a, sizes);
      EXPECT_NE((*self)->first, (*self)->second);
    }
    const Result<std::optional<Collision>> both = FindCollision(a, b, sizes, &steps);
    ASSERT_TRUE(both.ok());
    ASSERT_EQ(both->has_value(), Collide(a, b, sizes)) << n;
    if (both->has_value()) CheckCollision(**both, a, b, sizes);
    collisions += both->has_value() ? 1 : 0;
  }
  EXPECT_GT(collisions, 500);
  EXPECT_LT(collisions, 2500);
}

TEST(InjectivityTest, LargeLinearizedLayoutsAreDecidedQuickly) {
  const std::vector<int64_t> sizes = {1 << 20, 1 << 10, 1 << 10};
  int64_t steps = 100;
  const IndexFunction row_major{{{{1 << 20, 1 << 10, 1}, 0}}};
  EXPECT_FALSE(FindSelfCollision(row_major, sizes, &steps)->has_value());
  const IndexFunction too_tight{{{{(1 << 20) - 1, 1 << 10, 1}, 0}}};
  EXPECT_TRUE(FindSelfCollision(too_tight, sizes, &steps)->has_value());
}

TEST(InjectivityTest, CongruencesDecideLargeCoprimeStrides) {
  int64_t steps = 100;
  const IndexFunction access{{{{1'000'003, 1'000'001}, 0}}};
  EXPECT_FALSE(FindSelfCollision(access, {1'000'000, 1'000'000}, &steps)->has_value());
  EXPECT_TRUE(FindSelfCollision(access, {1'000'002, 1'000'004}, &steps)->has_value());
  const IndexFunction even{{{{2, 4}, 0}}}, odd{{{{4, 2}, 1}}};
  EXPECT_FALSE(FindCollision(even, odd, {1 << 30, 1 << 30}, &steps)->has_value());
}

TEST(InjectivityTest, GivesUpWhenTheStepsAreSpent) {
  int64_t steps = 3;
  // A knapsack: no bound or congruence helps.
  const IndexFunction access{{{{10'007, 11'003, 12'007, 13'001, 14'009}, 0}}};
  EXPECT_EQ(FindSelfCollision(access, {40, 40, 40, 40, 40}, &steps).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(InjectivityTest, CoefficientsThatCannotBeNegatedAreRefused) {
  int64_t steps = kSteps;
  const IndexFunction a{{{{1}, 0}}}, b{{{{INT64_MIN}, 0}}};
  EXPECT_EQ(FindCollision(a, b, {2}, &steps).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace mdh::injectivity_test
