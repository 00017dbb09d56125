// Every expression that comes with the client, tuned for a second: the kernel must be right. Sizes
// are halved until a problem is small, so that the time goes into trials; MDH_FULL_SIZES=1 keeps
// them.
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
#include "tests/tuner/runner_fixture.h"
#include "tuner/run/tuning_loop.h"

namespace mdh::shipped_expressions_test {
namespace {

constexpr int64_t kPoints = 300'000;

std::vector<std::string> ShippedExpressions() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(MDH_SOURCE_DIR "/client/expressions")) {
    if (entry.path().extension() == ".mdh") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
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

class ShippedExpression : public RunnerTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(ShippedExpression, TunedForASecondGivesACorrectKernel) {
  std::ifstream file(MDH_SOURCE_DIR "/client/expressions/" + GetParam() + ".mdh");
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

INSTANTIATE_TEST_SUITE_P(All, ShippedExpression, ::testing::ValuesIn(ShippedExpressions()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace mdh::shipped_expressions_test
