// A runner for tests that runs nothing.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "core/expression/canonical.h"
#include "gtest/gtest.h"
#include "tuner/measure/runner.h"

namespace mdh {

// Answers with costs that are a function of the kernel, without running anything.
class RecordedRunner final : public Runner {
 public:
  RecordedRunner() : device_(*DescribeHostCpu()) {
    device_.cores = 2;
    device_.compiler = "gcc 12.2.0";
  }

  const DeviceDescription& device() const override { return device_; }
  Status SetProblem(const ComputationView&, uint64_t seed, const Numerics&) override {
    ++problems_;
    seed_ = seed;
    for (const ProblemStep step : {ProblemStep::kInputs, ProblemStep::kReference}) {
      if (on_step_) on_step_(step);
    }
    return set_problem_ ? set_problem_(problems_) : absl::OkStatus();
  }
  void SetStepListener(OnStep on_step) override { on_step_ = std::move(on_step); }
  Result<int64_t> LoopNestTime() override { return 1'000'000'000; }
  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions&) override {
    const bool is_new = problems_ > 1 || searched_.insert(kernel.source).second;
    EXPECT_TRUE(is_new);
    submitted_.push_back({number, answer_(kernel)});
    return absl::OkStatus();
  }
  Result<Finished> Next() override {
    if (!next_.ok()) return next_;
    if (submitted_.empty()) return absl::FailedPreconditionError("nothing is submitted");
    Finished first = std::move(submitted_.front());
    submitted_.pop_front();
    return first;
  }
  void SetDeadline(int64_t deadline_ns) override { deadlines_ns_.push_back(deadline_ns); }
  Result<MachinePeaks> Peaks() override { return MachinePeaks{}; }
  void Interrupt() override {}

  static Measurement Ok(int64_t time_ns) {
    Measurement measurement;
    measurement.times_ns = {time_ns, time_ns + 2, time_ns + 1};
    return measurement;
  }
  static Measurement Fail(TrialOutcome outcome, const std::string& reason) {
    Measurement measurement;
    measurement.outcome = outcome;
    measurement.reason = reason;
    return measurement;
  }
  static int64_t CostOf(const Kernel& kernel) {
    return 1'000'000 + std::stoll(Sha256Hex(kernel.source).substr(0, 6), nullptr, 16);
  }

  DeviceDescription device_;
  int problems_ = 0;
  std::vector<int64_t> deadlines_ns_;
  uint64_t seed_ = 0;
  std::set<std::string> searched_;
  std::deque<Finished> submitted_;
  std::function<Status(int problem)> set_problem_;
  Status next_;  // an error: what Next gives
  OnStep on_step_;
  std::function<Measurement(const Kernel&)> answer_ = [](const Kernel& kernel) {
    return Ok(CostOf(kernel));
  };
};

}  // namespace mdh
