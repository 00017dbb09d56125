// Expressions that come with the client, a quarter of them in each run, tuned for a second: the
// kernel must be right. Sizes are halved until a problem is small, so that the time goes into
// trials; MDH_FULL_SIZES=1 keeps them, MDH_ALL_CASES=1 tunes all expressions.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/text/parser.h"
#include "tests/definition_header.h"
#include "tests/drawn.h"
#include "tests/source_path.h"
#include "tests/tuner/runner_fixture.h"
#include "tuner/run/tuning_loop.h"

namespace mdh::shipped_expressions_test {
namespace {

constexpr int64_t kPoints = 300'000;

constexpr size_t kGroups = 4;

// A quarter of those of one of the groups.
std::vector<std::string> ShippedExpressions(size_t group) {
  std::vector<std::string> all, names;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("client/expressions"))) {
    if (entry.path().extension() == ".mdh") all.push_back(entry.path().stem().string());
  }
  std::sort(all.begin(), all.end());
  for (size_t n = group; n < all.size(); n += kGroups) names.push_back(all[n]);
  return Drawn(names, (names.size() + 3) / 4);
}

// The defaults of the sizes, the largest halved (to odd numbers) until the problem is small.
Result<Expression> LoadSmall(const std::string& text) {
  MDH_ASSIGN_OR_RETURN(const DefinitionHeader header, ParseHeader(text));
  MDH_ASSIGN_OR_RETURN(Expression expression, ParseExpression(text));
  if (std::getenv("MDH_FULL_SIZES") != nullptr) return expression;
  Bindings sizes;
  for (const ParameterDeclaration& parameter : header.parameters) {
    if (!parameter.is_type &&
        parameter.default_value.find_first_not_of("0123456789") == std::string::npos) {
      sizes[parameter.name] = parameter.default_value;
    }
  }
  while (expression.points() > kPoints) {
    const auto largest = std::max_element(
        sizes.begin(), sizes.end(),
        [](const auto& a, const auto& b) { return std::stoll(a.second) < std::stoll(b.second); });
    if (largest == sizes.end() || std::stoll(largest->second) < 3) break;
    largest->second = std::to_string(std::stoll(largest->second) / 2 | 1);
    MDH_ASSIGN_OR_RETURN(expression, ParseExpression(text, sizes));
  }
  return expression;
}

class ShippedExpression : public RunnerTest, public ::testing::WithParamInterface<size_t> {
 protected:
  void ExpectRightKernel(const std::string& name);
};

void ShippedExpression::ExpectRightKernel(const std::string& name) {
  std::ifstream file(SourcePath("client/expressions/") + name + ".mdh");
  std::stringstream text;
  text << file.rdbuf();
  const Result<Expression> expression = LoadSmall(text.str());
  ASSERT_TRUE(expression.ok()) << expression.status();
  Result<std::unique_ptr<Runner>> runner = Runner::Start(Options());
  ASSERT_TRUE(runner.ok()) << runner.status();
  TuningOptions options;
  options.abort = AbortCondition::Duration(1'000'000'000);
  const std::atomic<bool> cancelled = false;
  std::string failure;
  const Result<TuningResult> result = Tune(
      *expression, **runner, options,
      [&](const TuningProgress& progress) {
        const Measurement& m = progress.trial->measurement;
        // Some configurations are too slow or too large; none may be wrong.
        if (m.outcome == TrialOutcome::kOk || m.outcome == TrialOutcome::kTimeout) return;
        failure = m.reason + "\n" + ToText(progress.trial->parameters);
      },
      cancelled);
  EXPECT_EQ(failure, "");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->measurement.outcome, TrialOutcome::kOk) << result->measurement.reason;
}

TEST_P(ShippedExpression, TunedForASecondGivesACorrectKernel) {
  for (const std::string& name : ShippedExpressions(GetParam())) {
    SCOPED_TRACE(name);
    ExpectRightKernel(name);
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, ShippedExpression, ::testing::Range(size_t{0}, kGroups));

}  // namespace
}  // namespace mdh::shipped_expressions_test
