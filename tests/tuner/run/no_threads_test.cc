// A system that gives no thread more: what needs one does without, or fails by name.
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include "core/base/start_thread.h"
#include "gtest/gtest.h"
#include "tests/sanitized.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/recorded_runner.h"
#include "tuner/measure/results/parallel_ranges.h"
#include "tuner/run/runner_pool.h"

namespace mdh::no_threads_test {
namespace {

// Leaves no room for the stack of a thread; for processes that end soon.
void TakeThreads() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit = {static_cast<rlim_t>(pages) * 4096 + (6 << 20), RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

class NoThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TriedCases(8) != 8) GTEST_SKIP() << "sanitizers need more memory than this leaves";
    // In a process of its own: the stacks of threads that ended are used again.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(NoThreads, TheErrorSaysSo) {
  EXPECT_EXIT(
      {
        TakeThreads();
        const Status status = StartThread([] {}).status();
        std::exit(absl::IsResourceExhausted(status) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(NoThreads, APoolOfRunnersFailsByName) {
  EXPECT_EXIT(
      {
        TakeThreads();
        RecordedRunner recorded;
        Runner* runner = &recorded;
        RunnerPool pool({&runner, 1}, 1);
        const Status status = pool.SetProblem(MatMulExpression(2, 2, 2), 1, {});
        std::exit(absl::IsResourceExhausted(status) && pool.count() == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(NoThreads, RangesAreWorkedOnByTheCaller) {
  EXPECT_EXIT(
      {
        TakeThreads();
        std::atomic<int64_t> sum = 0;
        ForRanges(5 * kRangeElements,
                  [&](int64_t, int64_t begin, int64_t end) { sum += end - begin; });
        std::exit(sum == 5 * kRangeElements ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mdh::no_threads_test
