// Formulas that are tables of one integer, and sums of which later parameters decide a part: spaces
// hold what Evaluate accepts.
#include <gtest/gtest.h>

#include "tuner/space/search_space.h"

namespace mdh::search_space_tables_test {
namespace {

Formula P(const std::string& name) { return Formula::Parameter(name); }

// Configurations by looking at all of the product.
int64_t Judge(const std::vector<TuningParameter>& parameters,
              const std::vector<Constraint>& constraints, const SearchSpace& space) {
  int64_t count = 0;
  Configuration c(parameters.size());
  const std::function<void(size_t)> visit = [&](size_t n) {
    if (n < parameters.size()) {
      for (uint32_t i = 0; i < parameters[n].range.size(); ++i) {
        c[n] = parameters[n].range.CodeAt(i);
        visit(n + 1);
      }
      return;
    }
    bool holds = true;
    for (const Constraint& constraint : constraints) {
      const Result<Value> value = Evaluate(constraint.formula, parameters, c);
      holds = holds && value.ok() && std::get<bool>(*value);
    }
    count += holds ? 1 : 0;
    EXPECT_EQ(space.Contains(c), holds) << space.ToText(c);
  };
  visit(0);
  return count;
}

void ExpectRight(const std::vector<TuningParameter>& parameters,
                 const std::vector<Constraint>& constraints) {
  for (const ParameterOrder order : {ParameterOrder::kDeclared, ParameterOrder::kAutomatic}) {
    const auto space = SearchSpace::Create(parameters, constraints, {.order = order});
    ASSERT_TRUE(space.ok()) << space.status();
    EXPECT_EQ(space->count(), Judge(parameters, constraints, *space));
  }
}

std::vector<TuningParameter> Numbers(int count, int64_t first, int64_t last) {
  std::vector<TuningParameter> parameters;
  for (int n = 0; n < count; ++n) {
    parameters.push_back(
        {std::string(1, static_cast<char>('a' + n)), *Range::Interval(first, last)});
  }
  return parameters;
}

// Smallest e with x <= 2^e.
Formula Log(const Formula& x) {
  return If(x <= 2, If(x <= 1, 0, 1), If(x <= 4, 2, If(x <= 8, 3, 4)));
}

TEST(SearchSpaceTables, SumsOfLogarithms) {
  const std::vector<Formula> logs = {Log(P("a")), Log(P("b")), Log(P("c")), Log(P("d"))};
  ExpectRight(Numbers(4, 1, 9), {Sum(logs) <= 6, Sum(logs) >= 3});
}

TEST(SearchSpaceTables, EveryKindOfComparison) {
  const Formula a = P("a");
  for (const Formula& condition : {a<2, a <= 2, a> 2, a >= 2, Formula(2) < a, Formula(2) >= a}) {
    ExpectRight(Numbers(3, -4, 5), {If(condition, 3, -1) + P("b") == P("c")});
    ExpectRight(Numbers(3, -4, 5),
                {If(condition, If(a < -1, 7, 2), If(a > 3, 0, 1)) == P("b"), P("c") >= P("b")});
  }
}

TEST(SearchSpaceTables, TablesOfSumsAndOfTables) {
  const Formula sum = P("a") + P("b");
  ExpectRight(Numbers(4, 0, 6), {Log(sum) + Log(P("c") * P("d")) <= 4});
  ExpectRight(Numbers(3, 0, 6), {Log(Log(P("a")) + P("b")) == Log(P("c"))});
}

TEST(SearchSpaceTables, TablesOfDifferentOperandsAndUndefinedOnes) {
  ExpectRight(Numbers(3, 0, 5), {If(P("a") < 3, If(P("b") < 2, 1, 2), 3) >= P("c")});
  ExpectRight(Numbers(3, 0, 5), {Log(FloorDivide(P("a"), P("b"))) + P("c") <= 3});
}

TEST(SearchSpaceTables, SumsThatComeFromLaterParameters) {
  const Formula inner = P("a") + P("b");
  ExpectRight(Numbers(5, -2, 2), {inner + P("c") + P("d") * P("e") <= 1,
                                  Max({inner + P("c"), P("d")}) >= 0, inner + P("e") != 2});
}

}  // namespace
}  // namespace mdh::search_space_tables_test
