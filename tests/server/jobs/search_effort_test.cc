// Requests that allow more, or less, search than stands behind a record, or than a job has.
#include "server/jobs/search_effort.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/tuning_request.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh::search_effort_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kOneSecond = 1'000'000'000;

v1::TuningOptions Limits(int64_t budget_s, int64_t max_trials = 0, int64_t device_time_s = 0) {
  v1::TuningOptions options;
  options.set_budget_ns(budget_s * kOneSecond);
  options.set_max_trials(max_trials);
  options.set_max_device_time_ns(device_time_s * kOneSecond);
  return *CheckTuningOptions(options);
}

TEST(SearchEffort, EveryLimitMustAllowMore) {
  const SearchEffort effort = {.time_ns = 10 * kOneSecond, .trials = 100};
  EXPECT_TRUE(AllowsMore(Limits(11), effort));
  EXPECT_FALSE(AllowsMore(Limits(10), effort));
  EXPECT_TRUE(AllowsMore(Limits(11, 101), effort));
  EXPECT_FALSE(AllowsMore(Limits(11, 100), effort));
  EXPECT_FALSE(AllowsMore(Limits(11, 0, 10), effort));
  EXPECT_FALSE(AllowsMore(Limits(11), {.time_ns = 1, .trials = 9, .is_exhausted = true}));
}

TEST(SearchEffort, OfOldRecordsItIsTheDurationOfTheirSearch) {
  v1::TuningRecord record;
  record.set_trials(7);
  EXPECT_TRUE(AllowsMore(Limits(1), EffortBehind(record)));  // made by hand
  record.set_search_time_ns(kOneSecond * 97 / 100);
  EXPECT_FALSE(AllowsMore(Limits(1), EffortBehind(record)));
  EXPECT_TRUE(AllowsMore(Limits(2), EffortBehind(record)));
  record.set_total_search_time_ns(2 * kOneSecond);
  EXPECT_FALSE(AllowsMore(Limits(2), EffortBehind(record)));
  EXPECT_EQ(ToText(EffortBehind(record)), "a search of 2.0 s with 7 trials");
}

TEST(SearchEffort, LimitsOfTwoAreTheHigherOnes) {
  const v1::TuningOptions both = WithLimitsOf(Limits(3, 10, 5), Limits(2, 20));
  EXPECT_EQ(both.budget_ns(), 3 * kOneSecond);
  EXPECT_EQ(both.max_trials(), 20);
  EXPECT_EQ(both.max_device_time_ns(), 0);
  EXPECT_EQ(LimitsText(Limits(3, 10)), "3.0 s or 10 trials");
}

class SearchEffortTest : public ::testing::Test {
 protected:
  SearchEffortTest() {
    store_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      table_.Apply(kind, record);
    });
    StartQueue();
  }
  void StartQueue() {
    queue_.reset();
    JobQueueOptions options;
    options.tune = [this](const Expression& expression, absl::Span<Runner* const> runners,
                          const TuningOptions& tuning,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled) {
      aborts_.push_back(tuning.abort.ToText());
      is_known_ = tuning.known && tuning.known("the kernel") != nullptr;
      return tune_(expression, runners, tuning, on_trial, cancelled);
    };
    queue_ = *JobQueue::Start(*store_, table_, catalogue_, std::move(options));
  }
  v1::CreateTuningJobResponse Create(const v1::TuningOptions& options,
                                     bool takes_any_search = false, bool force = false) {
    const auto created = queue_->Create({.computation = MatMulExpression(64, 64, 64),
                                         .options = options,
                                         .force = force,
                                         .takes_any_search = takes_any_search});
    EXPECT_TRUE(created.ok()) << created.status();
    return *created;
  }
  void ExpectState(int64_t number, v1::TuningJobState state) {
    EXPECT_TRUE(Eventually([&] { return queue_->Get(number)->state() == state; }));
  }
  // With its first trial, so that it ends as soon as the test says.
  void ExpectSearching(int64_t number) {
    EXPECT_TRUE(Eventually([&] { return queue_->Get(number)->progress().trials() > 0; }));
  }
  // A whole job.
  void Tune(const v1::TuningOptions& options, bool force = false) {
    tune_.Release();
    const int64_t number = *ParseJobName(Create(options, false, force).job().name());
    ExpectState(number, v1::TUNING_JOB_STATE_SUCCEEDED);
  }
  v1::TuningRecord Record() { return *table_.FindRecord(queue_->Get(1)->key()); }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeTune tune_;
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  LookupTable table_{KeyEnvironment::Of(cpu_.description)};
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, *store_};
  std::unique_ptr<JobQueue> queue_;
  std::vector<std::string> aborts_;
  std::atomic<bool> is_known_ = false;
};

TEST_F(SearchEffortTest, LessReturnsAtOnceAndSaysWhatIsThere) {
  Tune(Limits(10));
  EXPECT_EQ(Record().total_search_time_ns(), 10 * kOneSecond);
  for (const int64_t budget_s : {1, 10}) {
    const v1::CreateTuningJobResponse response = Create(Limits(budget_s));
    EXPECT_EQ(response.job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
    EXPECT_EQ(response.search_time_ns(), 10 * kOneSecond);
    EXPECT_EQ(response.note(),
              "there is a record, behind which stands a search of 10.0 s with 1 trial");
  }
  EXPECT_THAT(aborts_, SizeIs(1));
}

TEST_F(SearchEffortTest, MoreGoesOnFromThereWithWhatEarlierTrialsHaveShown) {
  Tune(Limits(1));
  // A trial of the first job, which the second one need not make again.
  TrialJournal journal(*store_, {1, 1}, queue_->Get(1)->key(), JournalSummary(), absl::Now);
  Trial trial{
      1,
      DefaultParameters(MatMulExpression(64, 64, 64), OpenMpSimdRegistersModel(), FakeCpu()),
      {},
      "the kernel"};
  trial.measurement.times_ns = {1'500'000};
  journal.Begin(trial.parameters, trial.identity);
  journal.End(trial, {});
  const v1::CreateTuningJobResponse response = Create(Limits(20));
  EXPECT_EQ(response.note(), "goes on from a search of 1.0 s with 1 trial");
  EXPECT_EQ(response.job().continued_search_ns(), kOneSecond);
  EXPECT_EQ(response.job().progress().elapsed_ns(), kOneSecond);
  EXPECT_EQ(response.job().progress().best_time_ns(), 1'000'000);
  tune_.Release();
  ExpectState(2, v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(is_known_);
  // Of 20 s; a busy machine may have needed a moment before the search began.
  ASSERT_THAT(aborts_, SizeIs(2));
  EXPECT_THAT(aborts_[1], HasSubstr("duration(1"));
  EXPECT_EQ(Record().total_search_time_ns(), 20 * kOneSecond);
  EXPECT_EQ(Create(Limits(20)).job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
}

TEST_F(SearchEffortTest, ASearchThatFindsNothingBetterStandsBehindTheRecordToo) {
  Tune(Limits(1));
  tune_.time_ns = 2'000'000;
  Tune(Limits(5));
  EXPECT_EQ(Record().time_ns(), 1'000'000);
  EXPECT_EQ(Record().total_search_time_ns(), 5 * kOneSecond);
  // Also one that began anew.
  Tune(Limits(2), /*force=*/true);
  EXPECT_EQ(Record().total_search_time_ns(), 7 * kOneSecond);
  EXPECT_EQ(Record().time_ns(), 1'000'000);
}

TEST_F(SearchEffortTest, WhoDoesNotSayHowMuchTakesWhatIsThere) {
  Tune(Limits(1));
  EXPECT_EQ(Create(*CheckTuningOptions({}), /*takes_any_search=*/true).job().state(),
            v1::TUNING_JOB_STATE_SUCCEEDED);
}

TEST_F(SearchEffortTest, APinnedRecordIsNotSearchedFurther) {
  Tune(Limits(1));
  ASSERT_TRUE(store_->SetPinning(*ParseRecordName(Record().name()), Pinning::kPinned).ok());
  const v1::CreateTuningJobResponse response = Create(Limits(20));
  EXPECT_EQ(response.job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_THAT(response.note(), HasSubstr("; it is pinned"));
}

TEST_F(SearchEffortTest, APinnedRecordThatOthersDisturbedIsNotSearchedAnew) {
  tune_.is_disturbed = true;
  Tune(Limits(1));
  ASSERT_TRUE(store_->SetPinning(*ParseRecordName(Record().name()), Pinning::kPinned).ok());
  EXPECT_EQ(Create(Limits(20)).job().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
}

TEST_F(SearchEffortTest, JoiningWithMoreExtendsTheJob) {
  Create(Limits(3, 100));
  ExpectSearching(1);
  const v1::CreateTuningJobResponse response = Create(Limits(25, 50));
  EXPECT_TRUE(response.joined());
  EXPECT_TRUE(response.extended());
  EXPECT_EQ(response.job().options().budget_ns(), 25 * kOneSecond);
  EXPECT_EQ(response.job().options().max_trials(), 100);
  EXPECT_EQ(response.note(),
            "joined tuningJobs/1 and extended it from 3.0 s or 100 trials to 25.0 s or 100 trials");
  EXPECT_TRUE(Eventually([&] { return !tune_.extensions().empty(); }));
  EXPECT_THAT(tune_.extensions(), ElementsAre(HasSubstr("duration(2")));
  // Who watches sees it, and so does the next daemon.
  EXPECT_GT(queue_->Get(1)->progress().remaining_ns(), 0);
  EXPECT_EQ(store_->GetJob(1)->options().budget_ns(), 25 * kOneSecond);
  tune_.Release();
  ExpectState(1, v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Record().total_search_time_ns(), 25 * kOneSecond);
}

TEST_F(SearchEffortTest, JoiningWithLessOrAnyIsTold) {
  Create(Limits(25));
  for (const bool takes_any : {false, true}) {
    const v1::CreateTuningJobResponse response = Create(Limits(takes_any ? 60 : 3), takes_any);
    EXPECT_TRUE(response.joined());
    EXPECT_FALSE(response.extended());
    EXPECT_EQ(response.note(), "joined tuningJobs/1, which searches for 25.0 s");
  }
  EXPECT_THAT(tune_.extensions(), IsEmpty());
  tune_.Release();
}

TEST_F(SearchEffortTest, AnExtensionSurvivesARestart) {
  Create(Limits(3));
  ExpectSearching(1);
  Create(Limits(25));
  queue_->Drain();
  StartQueue();
  tune_.Release();
  ExpectState(1, v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(queue_->Get(1)->options().budget_ns(), 25 * kOneSecond);
  EXPECT_THAT(aborts_.back(), HasSubstr("24"));
}

TEST_F(SearchEffortTest, CheckingARequestExtendsNothing) {
  Create(Limits(3));
  ExpectSearching(1);
  const auto checked =
      queue_->Validate({.computation = MatMulExpression(64, 64, 64), .options = Limits(25)});
  EXPECT_TRUE(checked->joined());
  EXPECT_EQ(queue_->Get(1)->options().budget_ns(), 3 * kOneSecond);
  tune_.Release();
}

TEST_F(SearchEffortTest, WhatAJobDoesIsTold) {
  tune_.reports_its_trial = false;
  Create(Limits(25));
  EXPECT_TRUE(
      Eventually([&] { return queue_->Get(1)->progress().phase() == v1::TUNING_PHASE_REFERENCE; }));
  EXPECT_EQ(queue_->Get(1)->progress().remaining_ns(), 7 * kOneSecond);
  tune_.Release();
  ExpectState(1, v1::TUNING_JOB_STATE_SUCCEEDED);
  EXPECT_EQ(queue_->Get(1)->progress().phase(), v1::TUNING_PHASE_UNSPECIFIED);
}

}  // namespace
}  // namespace mdh::search_effort_test
