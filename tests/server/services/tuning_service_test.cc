#include "server/services/tuning_service.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_request.h"
#include "tests/server/service_fixture.h"

namespace mdh::tuning_service_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TuningServiceTest : public ServiceTest {
 protected:
  Result<v1::CreateTuningJobResponse> Create(int64_t size, const TuneOptions& options = {}) {
    return client_->CreateJob(MatMulExpression(size, size, size), options);
  }
  std::vector<std::string> Listed(const v1::ListTuningJobsRequest& request) {
    const Result<v1::ListTuningJobsResponse> response = client_->ListJobs(request);
    EXPECT_TRUE(response.ok()) << response.status();
    std::vector<std::string> names;
    for (const v1::TuningJob& job : response->jobs()) names.push_back(job.name());
    return names;
  }
};

TEST_F(TuningServiceTest, OnlyCheckingCreatesNothing) {
  const Result<v1::CreateTuningJobResponse> checked =
      Create(64, {.source = "me", .priority = 3, .validate_only = true});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->job().name(), "");
  EXPECT_EQ(checked->job().state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_EQ(checked->job().priority(), 3);
  EXPECT_EQ(checked->job().options().budget_ns(), 60'000'000'000);
  EXPECT_THAT(Listed({}), IsEmpty());
  ASSERT_TRUE(Create(64).ok());
  EXPECT_TRUE(Create(64, {.validate_only = true})->joined());
}

TEST_F(TuningServiceTest, WrongRequestsNameTheField) {
  const std::pair<const char*, TuneOptions> cases[] = {
      {"options.budget_ns", {.budget_ns = -1}},
      {"options.max_trials", {.max_trials = -1}},
      {"options.tolerance", {.tolerance = 2}},
      {"options.gap", {.gap = 1}},
      {"options.gap", {.gap = -0.1}},
      {"options.cache_state", {.cache_state = static_cast<v1::CacheState>(9)}},
      {"options.max_device_time_ns", {.max_device_time_ns = -1}},
      {"options.numerics_policy", {.numerics_policy = v1::NUMERICS_POLICY_TF32}},
      {"priority", {.priority = 11}},
      {"source", {.source = std::string(100, 's')}},
      {"request_id", {.request_id = std::string(100, 'r')}},
      {"devices", {.devices = {"devices/cpu", "devices/cuda0"}}}};
  for (const auto& [field, options] : cases) {
    for (const bool validate_only : {false, true}) {
      TuneOptions asked = options;
      asked.validate_only = validate_only;
      const Status error = Create(64, asked).status();
      EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument) << field;
      EXPECT_EQ(FieldOf(error), field) << error;
    }
  }
  v1::ListTuningJobsRequest list;
  list.set_page_size(-1);
  EXPECT_EQ(FieldOf(client_->ListJobs(list).status()), "page_size");
  list.set_page_size(0);
  list.add_states(static_cast<v1::TuningJobState>(99));
  EXPECT_EQ(FieldOf(client_->ListJobs(list).status()), "states");
  EXPECT_EQ(FieldOf(client_->ListTuningTrials("tuningJobs/1", 0, "x").status()), "page_token");
}

TEST_F(TuningServiceTest, ThereIsNothingToTuneWithoutPoints) {
  const Status refused = Create(0).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("there is nothing to tune: dimension 'i' of matmul is empty"));
}

TEST_F(TuningServiceTest, ListsTakeFilters) {
  ASSERT_TRUE(Create(64, {.source = "a"}).ok());
  ASSERT_TRUE(Create(65, {.source = "b"}).ok());
  ASSERT_TRUE(Create(66, {.devices = {"devices/cuda0"}, .source = "b"}).ok());
  ASSERT_TRUE(client_->Cancel("tuningJobs/2").ok());
  v1::ListTuningJobsRequest of_source;
  of_source.set_source("b");
  EXPECT_THAT(Listed(of_source), ElementsAre("tuningJobs/3", "tuningJobs/2"));
  v1::ListTuningJobsRequest of_device;
  of_device.set_device("devices/cuda0");
  EXPECT_THAT(Listed(of_device), ElementsAre("tuningJobs/3"));
  v1::ListTuningJobsRequest of_state;
  of_state.add_states(v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_THAT(Listed(of_state), ElementsAre("tuningJobs/2"));
  v1::ListTuningJobsRequest of_expression;
  of_expression.set_expression(Client::KeyOf(MatMulExpression(64, 64, 64)).expression_digest());
  EXPECT_THAT(Listed(of_expression), ElementsAre("tuningJobs/1"));
  of_expression.set_expression("matmul");
  of_expression.set_page_size(2);
  EXPECT_THAT(Listed(of_expression), ElementsAre("tuningJobs/3", "tuningJobs/2"));
}

TEST_F(TuningServiceTest, TheLimitOfACallerCountsIfItIsLower) {
  const auto create = [&](int64_t size) {
    return queue_
        ->Create(*CheckJobRequest(
            MatMulExpression(size, 8, 8),
            {.options = {}, .requester = {.source = "ann", .limits = {.queued_jobs = 1}}},
            catalogue_))
        .status();
  };
  ASSERT_TRUE(create(64).ok());
  while (queue_->CountJobs().running == 0) absl::SleepFor(absl::Milliseconds(1));
  ASSERT_TRUE(create(65).ok());
  const Status refused = create(66);
  EXPECT_EQ(ReasonOf(refused), "SOURCE_QUOTA") << refused;
}

TEST_F(TuningServiceTest, ASourceMayNotHaveTheQueueForItself) {
  // One runs, two wait.
  for (int64_t size = 64; size < 67; ++size) {
    ASSERT_TRUE(Create(size, {.source = "greedy"}).ok());
    while (queue_->CountJobs().running == 0) absl::SleepFor(absl::Milliseconds(1));
  }
  const Status refused = Create(67, {.source = "greedy"}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), "SOURCE_QUOTA");
  EXPECT_EQ(DetailOf<google::rpc::QuotaFailure>(refused)->violations(0).subject(), "source:greedy");
  EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(refused).has_value());
  ASSERT_TRUE(Create(68, {.source = "modest"}).ok());
  ASSERT_TRUE(Create(69, {.source = "third"}).ok());
  const Status full = Create(70, {.source = "fourth"}).status();
  EXPECT_EQ(ReasonOf(full), "QUEUE_FULL");
}

TEST_F(TuningServiceTest, APausedJobWaitsUntilItIsResumed) {
  ASSERT_TRUE(Create(64).ok());
  while (client_->GetJob("tuningJobs/1")->job().progress().trials() == 0) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  ASSERT_TRUE(client_->Pause("tuningJobs/1").ok());
  while (client_->GetJob("tuningJobs/1")->job().state() != v1::TUNING_JOB_STATE_PAUSED) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_TRUE(client_->Pause("tuningJobs/1").ok());
  // What it has found can be used already, and is not taken for the end of the search.
  EXPECT_TRUE(client_->Lookup(MatMulExpression(64, 64, 64))->record().is_provisional());
  EXPECT_TRUE(Create(64)->joined());
  EXPECT_EQ(client_->Resume("tuningJobs/1")->state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_TRUE(client_->Resume("tuningJobs/1").ok());
  EXPECT_EQ(FinishJob("tuningJobs/1").state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(client_->Lookup(MatMulExpression(64, 64, 64))->record().is_provisional());
  for (const auto call : {&Client::Pause, &Client::Resume}) {
    const Status ended = (*client_.*call)("tuningJobs/1").status();
    EXPECT_EQ(ended.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ReasonOf(ended), "JOB_ENDED");
    EXPECT_EQ((*client_.*call)("tuningJobs/9").status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(FieldOf((*client_.*call)("nonsense").status()), "name");
  }
}

TEST_F(TuningServiceTest, QueuedAndPausedJobsCanBePausedAndCancelled) {
  ASSERT_TRUE(Create(64).ok());
  ASSERT_TRUE(Create(65).ok());
  while (queue_->CountJobs().running == 0) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(client_->Pause("tuningJobs/2")->state(), v1::TUNING_JOB_STATE_PAUSED);
  EXPECT_EQ(store_->GetJob(2)->state(), v1::TUNING_JOB_STATE_PAUSED);
  EXPECT_EQ(client_->Cancel("tuningJobs/2")->state(), v1::TUNING_JOB_STATE_CANCELLED);
  EXPECT_EQ(queue_->CountJobs().paused, 0);
}

TEST_F(TuningServiceTest, TheJournalIsListedInPages) {
  ASSERT_TRUE(Create(64).ok());
  FinishJob("tuningJobs/1");
  const Result<v1::ListTuningTrialsResponse> all = client_->ListTuningTrials("tuningJobs/1", 0, "");
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->trials_size(), 1);
  const v1::TuningTrial& trial = all->trials(0);
  EXPECT_EQ(trial.number(), 1);
  EXPECT_EQ(trial.outcome(), "ok");
  EXPECT_EQ(trial.time_ns(), 1'000'000);
  EXPECT_THAT(trial.parameters(), HasSubstr("="));
  EXPECT_EQ(trial.elapsed_ns(), 1000);
  EXPECT_EQ(trial.device_time_ns(), 1000);
  std::vector<v1::TuningTrial> more(4);
  for (int n = 0; n < 4; ++n) more[static_cast<size_t>(n)].set_number(n + 2);
  ASSERT_TRUE(store_->PutTrials({.number = 1, .epoch = 1}, more).ok());
  const auto first = client_->ListTuningTrials("tuningJobs/1", 3, "");
  EXPECT_EQ(first->trials_size(), 3);
  const auto rest = client_->ListTuningTrials("tuningJobs/1", 3, first->next_page_token());
  EXPECT_EQ(rest->trials_size(), 2);
  EXPECT_EQ(rest->trials(0).number(), 4);
  EXPECT_EQ(rest->next_page_token(), "");
  // Those with one number, of several owners, are on one page.
  for (const int64_t epoch : {2, 3}) {
    ASSERT_TRUE(store_->PutTrials({.number = 1, .epoch = epoch}, {more[1]}).ok());
  }
  std::vector<int64_t> sizes;
  std::string token;
  do {
    const auto page = client_->ListTuningTrials("tuningJobs/1", 2, token);
    sizes.push_back(page->trials_size());
    token = page->next_page_token();
  } while (!token.empty() && sizes.size() < 10);
  EXPECT_THAT(sizes, ::testing::ElementsAre(2, 3, 2));
  EXPECT_EQ(client_->ListTuningTrials("tuningJobs/9", 0, "").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace mdh::tuning_service_test
