// Budgets bound the time of jobs, whatever the size of the problem.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::budget_test {
namespace {

using ::testing::AnyOf;

struct BudgetCase {
  const char* expression;  // of client/expressions, or a text
  const char* sizes = "";  // "I=4,K=5"
  bool is_quick = false;   // a part of the test without MDH_BUDGETS
};

constexpr const char* kSumOfInt8 =
    "sum<| I=4> := out_view<int64>( c: (i)->() ) o md_hom<I>( f, (+) ) o "
    "inp_view<int8>( a: (i)->(i) ) where f(a) -> c { c = int64(a) }";
constexpr const char* kCountOfPoints =
    "cnt<| I=4> := out_view<int64>( c: (i)->() ) o md_hom<I>( f, (+) ) o "
    "inp_view<int32>( a: (i)->() ) where f(a) -> c { c = int64(a) * (i % 7) }";

// From 1 point to 4e9.
constexpr BudgetCase kCases[] = {
    {"map", "I=1", true},
    {"dot", "K=1"},
    {"matmul", "I=1,J=1,K=1"},
    {"reduce", "I=17"},
    {"scan", "I=1009"},
    {"bmatmul", "B=3,I=5,J=7,K=11"},
    {"matvec", "I=101,K=103"},
    {"softmax_stats", "I=64,K=1000"},
    {"jacobi2d", "I1=301,I2=303"},
    {"matmul", "I=64,J=64,K=64"},
    {"conv2d", ""},
    {"histo", "E=100003,B=64"},
    {"nbody", "N=1024"},
    {"prl", ""},
    {"mandelbrot", ""},
    {"linear_recurrence", ""},
    {"reduce2", ""},
    {"matmul", "I=259,J=256,K=300"},
    {"jacobi3d", ""},
    {"argmax", ""},
    {"mbbs", ""},
    {"mcc", ""},
    {"histo", ""},
    {"map", "I=100000007"},
    {"matvec", "I=20011,K=20021"},
    {kCountOfPoints, "I=400000000"},
    {"matmul", "I=1000,J=1000,K=1000", true},
    {kSumOfInt8, "I=2200000000"},
    {"mttkrp", ""},
    {kSumOfInt8, "I=4000000000"},
};

// As they are shipped: from 4 million points to 550 million.
constexpr BudgetCase kPipelines[] = {
    {"pipelines/softmax"},          {"pipelines/log_softmax"},
    {"pipelines/layer_norm"},       {"pipelines/rms_norm"},
    {"pipelines/interp"},           {"pipelines/inverse_helmholtz"},
    {"pipelines/jacobi3d_4"},       {"pipelines/attention", "", true},
    {"pipelines/causal_attention"},
};

class BudgetTest : public DaemonTest {
 protected:
  void SetUp() override { StartDaemon(); }
  void ExpectInTime(absl::Span<const BudgetCase> cases, const char* in_short);

  std::vector<std::string> WordsOf(const BudgetCase& which) {
    const std::string text = which.expression;
    std::string file = ExpressionPath(text + ".mdh");
    if (text.find(' ') != std::string::npos) {
      file = directory_.File("case.mdh");
      std::ofstream(file) << text;
    }
    std::vector<std::string> words = {"tune", file, "--force"};
    for (const auto size : absl::StrSplit(which.sizes, ',', absl::SkipEmpty())) {
      words.insert(words.end(), {"--set", std::string(size)});
    }
    return words;
  }

  // Gives how the program ended, and takes the time.
  Ended Tune(const BudgetCase& which, double budget_s, double& elapsed_s) {
    std::vector<std::string> words = WordsOf(which);
    words.insert(words.end(), {"--budget", std::to_string(budget_s) + "s"});
    const auto start = std::chrono::steady_clock::now();
    Ended ended = Mdh(words);
    elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return ended;
  }
};

// MDH_BUDGETS=1,3,10: budgets in seconds for all cases, on a machine that does nothing else and has
// 16 GiB of memory; without it, `in_short` for a few, and more patience with the machine.
void BudgetTest::ExpectInTime(absl::Span<const BudgetCase> cases, const char* in_short) {
  const char* const wanted = std::getenv("MDH_BUDGETS");
  // Until there is a first result, small problems wait for a machine with other work.
  const double patience_s = wanted == nullptr ? 120 : 0;
  // The peaks of the machine are measured for the first job.
  ASSERT_EQ(Mdh(OnMatMul("tune", 8, {"--budget", "500ms"})).code, 0);
  for (const auto text : absl::StrSplit(wanted == nullptr ? in_short : wanted, ',')) {
    double budget_s = 0;
    ASSERT_TRUE(absl::SimpleAtod(text, &budget_s)) << "MDH_BUDGETS has '" << text << "'";
    for (const BudgetCase& which : cases) {
      if (wanted == nullptr && !which.is_quick) continue;
      double elapsed_s = 0;
      const Ended ended = Tune(which, budget_s, elapsed_s);
      EXPECT_LE(elapsed_s, 1.2 * budget_s + 2 + patience_s)
          << which.expression << " " << which.sizes;
      // Too little time for anything is an error that says so.
      EXPECT_THAT(ended.code, AnyOf(0, 1)) << ended.err;
      if (ended.code != 0) {
        EXPECT_THAT(ended.err, ::testing::HasSubstr("the budget is too short for"));
      }
      if (wanted == nullptr) continue;
      std::printf("%4g s  %6.2f s  %-9s %.40s %s\n", budget_s, elapsed_s,
                  ended.code == 0 ? "" : "too short", which.expression, which.sizes);
      std::fflush(stdout);
    }
  }
}

TEST_F(BudgetTest, JobsEndInTimeWhateverTheirSize) { ExpectInTime(kCases, "1"); }

TEST_F(BudgetTest, JobsOfPipelinesEndInTimeWhateverTheirSize) { ExpectInTime(kPipelines, "2"); }

}  // namespace
}  // namespace mdh::budget_test
