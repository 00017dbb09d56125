// Random expressions over all types, operators and views, through the text form and the wire.
#include "tests/property/round_trip.h"

#include "gtest/gtest.h"
#include "tests/fresh_seed.h"
#include "tests/random_expression.h"
#include "tests/random_pipeline.h"

namespace mdh::round_trip_test {
namespace {

TEST(RoundTrip, TextAndMessageOfRandomExpressions) {
  Rng rng(FreshSeed());
  int failures = 0;
  for (int n = 0; n < 1'000 && failures < 5; ++n) {
    const std::string failure = RoundTripFailure(RandomExpression(rng));
    if (failure.empty()) continue;
    ++failures;
    ADD_FAILURE() << "expression " << n << ": " << failure;
  }
}

TEST(RoundTrip, TextAndMessageOfRandomPipelines) {
  Rng rng(FreshSeed());
  int failures = 0;
  for (int n = 0; n < 300 && failures < 3; ++n) {
    const std::string failure = RoundTripFailure(RandomPipeline(rng));
    if (failure.empty()) continue;
    ++failures;
    ADD_FAILURE() << "pipeline " << n << ": " << failure;
  }
}

TEST(RoundTrip, ExpressionsThatRound) {
  Rng rng(21);
  RandomExpressionOptions options;
  options.exact = false;
  options.empty_one_in = 20;
  for (int n = 0; n < 500; ++n) {
    EXPECT_EQ(RoundTripFailure(RandomExpression(rng, options)), "");
  }
}

}  // namespace
}  // namespace mdh::round_trip_test
