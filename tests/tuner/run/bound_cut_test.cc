// Tuning with bounds: what is not tried, what is proven, and what becomes of a bound that is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "tests/codegen/bounds/configuration_ranges.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/recorded_runner.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/tuning_loop.h"

namespace mdh::bound_cut_test {
namespace {

class BoundCut : public ::testing::Test {
 protected:
  BoundCut() : facts_{runner_.device(), RatesOf(runner_.device(), {}), {.calls = 1}} {}

  double ProblemNs() const {
    return ProblemBoundOf(expression_, facts_.device, facts_.rates, facts_.question).time_ns();
  }

  // Where every kernel takes the same time, but no less than its bound, unless told.
  TuningResult Search(double time_ns, double gap, int64_t trials, bool has_bounds = true,
                      bool obeys_bounds = true) {
    // Kernels are given to runners by other threads than that of the search.
    absl::Mutex mutex;
    std::map<std::string, double> bounds;
    runner_.answer_ = [=, &mutex, &bounds](const Kernel& kernel) {
      absl::MutexLock lock(&mutex);
      const double least_ns = bounds[IdentityOf(kernel)];
      const double own_ns = obeys_bounds ? std::max(time_ns, 1.01 * least_ns) : time_ns;
      return RecordedRunner::Ok(static_cast<int64_t>(own_ns));
    };
    TuningOptions options;
    options.technique = "random";
    options.abort = AbortCondition::Evaluations(trials);
    options.gap = gap;
    options.on_start = [&](const TuningParameters& parameters, const std::string& identity) {
      absl::MutexLock lock(&mutex);
      bounds[identity] = BoundOf(parameters);
    };
    if (has_bounds) options.bounds = facts_;
    Result<TuningResult> result = Tune(
        expression_, runner_, options,
        [&](const TuningProgress& progress) { trials_.push_back(progress.trial->parameters); },
        cancelled_);
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  // What the space says of a configuration that it has, else what is known of its parameters alone.
  double BoundOf(const TuningParameters& parameters) const {
    const std::optional<Configuration> in_space = space_->Encode(parameters);
    const DesignBound bound(expression_, facts_.device, facts_.rates, NumericsPolicy::kReassociate);
    if (in_space.has_value()) {
      std::vector<absl::Span<const int64_t>> codes;
      for (const int64_t& code : *in_space) codes.push_back(absl::MakeConstSpan(&code, 1));
      return bound.TimeNs(space_->RangesOf(codes));
    }
    const auto ranges = RangesOf(parameters, TuningModel(DeviceKind::kCpu), expression_);
    return ranges.has_value() ? bound.TimeNs(*ranges) : 0;
  }

  Expression expression_ = MatMulExpression(960, 800, 640);
  RecordedRunner runner_;
  Result<MdhSpace> space_ =
      MdhSpace::Create(expression_, TuningModel(DeviceKind::kCpu), runner_.device());
  BoundFacts facts_;
  std::atomic<bool> cancelled_ = false;
  std::vector<TuningParameters> trials_;
};

// On two cores, one of them alone takes twice the time.
TEST_F(BoundCut, WhatIsSlowerIsNotTried) {
  const double time_ns = 1.2 * ProblemNs();
  const TuningResult result = Search(time_ns, 0, 60);
  int slower = 0;
  for (const TuningParameters& parameters : trials_) slower += BoundOf(parameters) > time_ns;
  EXPECT_LE(slower, 8) << "but what rules begin with, and what was in work by then";
  EXPECT_GT(result.cut.proven_worse, 0);
  EXPECT_FALSE(result.cut.is_contradicted);
  EXPECT_LE(result.cut.space_bound, time_ns);
  EXPECT_GT(result.cut.space_count, result.cut.proven_worse);
  trials_.clear();
  const TuningResult all = Search(time_ns, 0, 60, /*has_bounds=*/false);
  EXPECT_EQ(all.cut.proven_worse, 0);
  int tried = 0;
  for (const TuningParameters& parameters : trials_) tried += BoundOf(parameters) > time_ns;
  EXPECT_GT(tried, slower);
}

TEST_F(BoundCut, EndsWithinTheGap) {
  const TuningResult result = Search(1.04 * ProblemNs(), 0.05, 60);
  EXPECT_TRUE(result.cut.is_within_gap);
  EXPECT_LT(trials_.size(), 20u);
  EXPECT_FALSE(result.is_exhausted) << "what is faster by less was not looked for";
  trials_.clear();
  EXPECT_FALSE(Search(1.04 * ProblemNs(), 0.01, 60).cut.is_within_gap);
  EXPECT_EQ(trials_.size(), 60u);
}

// Less than any kernel can take, and less than some that one core computes.
TEST_F(BoundCut, ABoundThatIsWrongProvesNothing) {
  for (const double times : {0.5, 1.2}) {
    trials_.clear();
    const TuningResult result =
        Search(times * ProblemNs(), 0, 30, /*has_bounds=*/true, /*obeys_bounds=*/false);
    if (times > 1 && !result.cut.is_contradicted) continue;  // none of them was tried
    EXPECT_TRUE(result.cut.is_contradicted);
    EXPECT_EQ(result.cut.proven_worse, 0);
    EXPECT_EQ(result.cut.space_bound, 0);
    EXPECT_EQ(trials_.size(), 30u);
  }
}

}  // namespace
}  // namespace mdh::bound_cut_test
