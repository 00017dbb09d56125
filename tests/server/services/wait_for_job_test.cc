#include "client/wait_for_job.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/service_fixture.h"

namespace mdh::wait_for_job_test {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

class WaitForJobTest : public ServiceTest {
 protected:
  std::string CreateJob() {
    return client_->CreateJob(MatMulExpression(64, 64, 64), {})->job().name();
  }
};

TEST_F(WaitForJobTest, GivesTheJobAsItEnded) {
  const std::string name = CreateJob();
  tune_.Release();
  std::vector<int64_t> sequences;
  const Result<v1::GetTuningJobResponse> ended = WaitForJob(
      *client_, name, {},
      [&](const v1::TuningProgress& progress) { sequences.push_back(progress.sequence()); });
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(ended->has_record());
  EXPECT_TRUE(ErrorOf(ended->job()).ok());
  EXPECT_FALSE(sequences.empty());
  EXPECT_TRUE(std::is_sorted(sequences.begin(), sequences.end()));
}

TEST_F(WaitForJobTest, StreamsThatEndAreBegunAnew) {
  const std::string name = CreateJob();
  std::jthread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    tune_.Release();
  });
  EXPECT_TRUE(WaitForJob(*client_, name, {.stream_limit_ns = 50 * kMillisecond}).ok());
}

TEST_F(WaitForJobTest, WaitsNoLongerThanItMay) {
  const std::string name = CreateJob();
  EXPECT_EQ(WaitForJob(*client_, name, {.limit_ns = 50 * kMillisecond}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  tune_.Release();
}

TEST_F(WaitForJobTest, ADaemonThatGoesAwayInMidStreamAndComesBack) {
  const std::string name = CreateJob();
  std::jthread restart([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    StopServer(absl::ZeroDuration());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    StartServer();
    tune_.Release();
  });
  const Result<v1::GetTuningJobResponse> ended = WaitForJob(*client_, name);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
}

TEST_F(WaitForJobTest, ADaemonThatStaysAwayIsAnError) {
  const std::string name = CreateJob();
  StopServer(absl::ZeroDuration());
  EXPECT_EQ(WaitForJob(*client_, name, {.max_silence_ns = 100 * kMillisecond}).status().code(),
            absl::StatusCode::kUnavailable);
  tune_.Release();
}

TEST_F(WaitForJobTest, WhatIsWrongWithTheJobIsNotRepeated) {
  EXPECT_EQ(WaitForJob(*client_, "tuningJobs/99").status().code(), absl::StatusCode::kNotFound);
  v1::TuningJob job;
  job.set_state(v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(ErrorOf(job).code(), absl::StatusCode::kCancelled);
  job.set_state(v1::TUNING_JOB_STATE_FAILED);
  job.mutable_error()->set_code(9);
  job.mutable_error()->set_message("why");
  EXPECT_EQ(ErrorOf(job), absl::FailedPreconditionError("why"));
}

TEST_F(WaitForJobTest, ACallThatIsRepeatedGivesOneJob) {
  TuneOptions options;
  options.request_id = "mine";
  const Expression expression = MatMulExpression(64, 64, 64);
  EXPECT_EQ(client_->CreateJob(expression, options)->job().name(),
            client_->CreateJob(expression, options)->job().name());
  EXPECT_FALSE(client_->CreateJob(MatMulExpression(65, 64, 64), {})->job().request_id().empty());
  tune_.Release();
}

TEST_F(WaitForJobTest, ReadsAreRepeatedWhileTheDaemonIsAwayForAMoment) {
  const std::string name = CreateJob();
  StopServer(absl::ZeroDuration());
  std::jthread start([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    StartServer();
  });
  EXPECT_TRUE(client_->GetJob(name).ok());
  tune_.Release();
}

}  // namespace
}  // namespace mdh::wait_for_job_test
