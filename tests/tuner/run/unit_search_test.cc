#include "tuner/run/unit_search.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "codegen/choose/default_parameters.h"
#include "codegen/choose/unit_variants.h"
#include "core/decomposition/validate.h"
#include "core/text/parser.h"
#include "tuner/run/search_turns.h"

namespace mdh::unit_search_test {
namespace {

constexpr char kMatMul[] = R"(
matmul<T = bf16> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<1024,1024,1024>( f, (++, ++, +) ) o
  inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(A, B) -> C { C = A * B }
)";

class UnitSearchTest : public ::testing::Test {
 protected:
  // A device that likes what the model does not: few stages, and tiles in rows.
  double Measured(const TuningParameters& p) const {
    const UnitPlan plan = CutForUnit(p.unit, p.combine_blocks, *PlanUnit(expression_));
    double cost = UnitCycles(plan, p, device_);
    if (p.unit.stages > 5) cost *= 1.3;
    for (int blocks = p.swizzle; blocks > 2; blocks /= 2) cost *= 1.2;
    return cost;
  }

  const Expression expression_ = *ParseExpression(kMatMul);
  const SystemModel model_ = CudaModel();
  const DeviceDescription device_ = *DescribeCudaArchitecture(90);
  const TuningParameters default_ = DefaultParameters(expression_, model_, device_);
};

TEST_F(UnitSearchTest, MovesToWhatTheModelDidNotPropose) {
  UnitSearch search(expression_, model_, device_, default_);
  double first = 0, best = 0;
  TuningParameters found;
  std::set<std::string> asked;
  for (int n = 0; n < 150; ++n) {
    const std::optional<TuningParameters> next = search.Ask();
    if (!next.has_value()) break;
    EXPECT_TRUE(asked.insert(ToText(*next)).second);
    EXPECT_TRUE(Validate(expression_, model_, device_, *next).ok());
    const double cost = Measured(*next);
    if (n == 0) first = best = cost;
    if (cost < best) found = *next;
    best = std::min(best, cost);
    search.Tell(*next, cost);
  }
  EXPECT_LT(best, 0.9 * first);
  EXPECT_LE(found.swizzle, 2);  // of rules all have 8
  EXPECT_EQ(search.best(), best);
}

TEST_F(UnitSearchTest, LearnsFromWhatOthersMeasured) {
  UnitSearch search(expression_, model_, device_, default_);
  search.Learn(default_, 1.0);
  EXPECT_EQ(search.best(), 1.0);
  while (const std::optional<TuningParameters> next = search.Ask()) {
    EXPECT_NE(*next, default_);
    search.Tell(*next, std::nullopt);
  }
  EXPECT_TRUE(search.is_done());
}

TEST_F(UnitSearchTest, HasNothingToSayWhereThereIsNoUnit) {
  std::string text = kMatMul;
  text.replace(text.find("bf16"), 4, "fp32");
  const Expression singles = *ParseExpression(text);
  UnitSearch search(singles, model_, device_, DefaultParameters(singles, model_, device_));
  EXPECT_TRUE(search.is_done());
  EXPECT_EQ(search.expected(), std::nullopt);
  EXPECT_FALSE(search.Ask().has_value());
}

TEST(SearchTurnsTest, WhoIsFarBehindHasFewTurns) {
  const auto turns = [](const SearchStanding& first, const SearchStanding& second) {
    int of_second = 0;
    for (int turn = 0; turn < 80; ++turn) of_second += IsTurnOfSecond(first, second, turn) ? 1 : 0;
    return of_second;
  };
  EXPECT_EQ(turns({}, {}), 40);
  EXPECT_EQ(turns({1.0, 1.0}, {1.2, 2.0}), 40);
  EXPECT_EQ(turns({1.0, 1.0}, {2.0, 2.0}), 5);
  EXPECT_EQ(turns({2.0, 2.0}, {1.0, 1.0}), 75);
  EXPECT_EQ(turns({std::nullopt, 3.0}, {std::nullopt, 1.0}), 75);
  EXPECT_EQ(turns({1.0, 3.0}, {1.1, 1.0}), 40);
  EXPECT_EQ(turns({std::nullopt, 9.0}, {std::nullopt, 1.0}), 80);
  EXPECT_EQ(turns({1.0, 1.0}, {1.0, 1.0, true}), 0);
  EXPECT_EQ(turns({1.0, 1.0, true}, {9.0, 9.0}), 80);
}

}  // namespace
}  // namespace mdh::unit_search_test
