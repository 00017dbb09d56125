// A runner for tests: the real program, in a directory that ends with the test.
#pragma once

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"
#include "tests/tuner/hand_written.h"
#include "tests/tuner/runner_program.h"
#include "tuner/measure/runner.h"

namespace mdh {

class RunnerTest : public ::testing::Test {
 protected:
  static constexpr int64_t kSize = 1000;

  RunnerOptions Options() const {
    RunnerOptions options;
    options.program = RunnerProgram();
    options.work_directory = directory_.File("runner");
    options.device = selector_;
    return options;
  }

  // A runner with the problem of AddKernel.
  void StartRunner(int64_t size = kSize) {
    Result<std::unique_ptr<Runner>> started = Runner::Start(Options());
    ASSERT_TRUE(started.ok()) << started.status();
    runner_ = *std::move(started);
    const Status status = runner_->SetProblem(AddExpression(size), 1);
    ASSERT_TRUE(status.ok()) << status;
  }

  Measurement MeasureOne(const Kernel& kernel, const MeasureOptions& options = {}) {
    const Result<std::vector<Measurement>> measured = runner_->Measure({kernel}, options);
    EXPECT_TRUE(measured.ok()) << measured.status();
    EXPECT_EQ(measured->size(), 1u);
    return measured->front();
  }

  std::string selector_ = "cpu";
  TemporaryDirectory directory_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace mdh
