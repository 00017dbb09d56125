// One job on several daemons, which share a store.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/help/offered_kernels.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/help/helping_daemon.h"
#include "tests/server/temporary_directory.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh::job_help_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr const char* kOwn = "devices/cpu";
constexpr const char* kOfB = "nodes/b/devices/cpu";
constexpr const char* kOfC = "nodes/c/devices/cpu";

class JobHelpTest : public ::testing::Test {
 protected:
  int CountAll(const std::map<std::string, int>& places) {
    int all = 0;
    for (const auto& [place, count] : places) all += count;
    return all;
  }
  std::vector<std::string> RunningDevices(HelpingDaemon& daemon, int64_t job) {
    const v1::TuningJob found = daemon.Get(job);
    return {found.running_devices().begin(), found.running_devices().end()};
  }
  // A helper by hand.
  HelpedJob Asking() {
    std::vector<HelpedJob> jobs;
    EXPECT_TRUE(Eventually([&] {
      jobs = *board_->Find(EnvironmentOfTrials(KeyEnvironment::Of(FakeCpu())));
      return !jobs.empty();
    }));
    return jobs.empty() ? HelpedJob() : jobs.front();
  }
  std::vector<OfferedTrial> AwaitOffers(int64_t seat, int room = 1) {
    std::vector<OfferedTrial> offers;
    EXPECT_TRUE(Eventually([&] {
      offers = *board_->Exchange(seat, absl::Seconds(30), {}, {}, room);
      return !offers.empty();
    }));
    return offers;
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  const std::shared_ptr<TrialBoard> board_ = *store_->OpenTrialBoard();
};

TEST_F(JobHelpTest, IdleDaemonsMeasureTrialsOfAJob) {
  HelpingDaemon a(*store_, {.name = "a"}), b(*store_, {.name = "b"}), c(*store_, {.name = "c"});
  const int64_t job = a.Create(64, 150);
  EXPECT_TRUE(Eventually([&] { return RunningDevices(a, job).size() == 3; }));
  EXPECT_THAT(RunningDevices(a, job), UnorderedElementsAre(kOwn, kOfB, kOfC));
  ASSERT_TRUE(a.Succeeds(job));
  const std::map<std::string, int> places = a.Places(job);
  EXPECT_THAT(places, AllOf(Contains(Key(kOwn)), Contains(Key(kOfB)), Contains(Key(kOfC))));
  EXPECT_EQ(CountAll(places), 150);
  EXPECT_EQ(a.Get(job).progress().trials(), 150);
  EXPECT_EQ(a.Get(job).progress().failed_trials(), 0);
  // Who took part is in the record; the owner, which has measured its time, comes first.
  const Result<std::vector<v1::TuningRecord>> records = store_->AllRecords();
  EXPECT_THAT(records->front().device_names(), ElementsAre(kOwn, kOfB, kOfC));
  EXPECT_EQ(a.figures().help_got, places.at(kOfB) + places.at(kOfC));
  EXPECT_GE(b.figures().help_given, places.at(kOfB));
  EXPECT_GE(c.figures().help_given, places.at(kOfC));
  EXPECT_TRUE(Eventually([&] { return b.IsFree() && c.IsFree(); }));
  EXPECT_THAT(*board_->Find(EnvironmentOfTrials(KeyEnvironment::Of(FakeCpu()))), IsEmpty());
}

// A search is the same whoever measures, but for the order in which results come.
TEST_F(JobHelpTest, HelpersMeasureTheOwnersKernels) {
  HelpingDaemon a(*store_, {.name = "a"}), b(*store_, {.name = "b"});
  const int64_t job = a.Create(64, 60);
  ASSERT_TRUE(a.Succeeds(job));
  std::set<std::string> of_kernels;
  const std::vector<v1::TuningTrial> trials = *store_->ListTrials(job, 0, 0);
  for (const v1::TuningTrial& trial : trials) {
    EXPECT_EQ(trial.outcome(), "ok");
    if (trial.device().empty()) continue;
    EXPECT_TRUE(of_kernels.insert(trial.kernel_digest()).second);
  }
  EXPECT_GE(a.device().measured + b.device().measured, std::ssize(of_kernels));
}

TEST_F(JobHelpTest, WhoDoesNotWantToIsNotAskedAndDoesNotHelp) {
  {
    HelpingDaemon a(*store_, {.name = "a", .sharing = TrialSharing::kHelp});
    HelpingDaemon b(*store_, {.name = "b"});
    const int64_t job = a.Create(64, 20);
    ASSERT_TRUE(a.Succeeds(job));
    EXPECT_THAT(a.Places(job), Not(Contains(Key(kOfB))));
  }
  HelpingDaemon a(*store_, {.name = "a"});
  HelpingDaemon b(*store_, {.name = "b", .sharing = TrialSharing::kAsk});
  HelpingDaemon c(*store_, {.name = "c", .sharing = TrialSharing::kOff});
  const int64_t job = a.Create(65, 20);
  ASSERT_TRUE(a.Succeeds(job));
  EXPECT_EQ(a.figures().help_got, 0);
  EXPECT_EQ(b.device().problems + c.device().problems, 0);
}

TEST_F(JobHelpTest, ADaemonWithAnotherCompilerIsOfferedNothing) {
  DeviceDescription other = FakeCpu();
  other.compiler = "fake cc 2";
  HelpingDaemon a(*store_, {.name = "a"}), b(*store_, {.name = "b", .device = other});
  const int64_t job = a.Create(64, 30);
  ASSERT_TRUE(a.Succeeds(job));
  EXPECT_EQ(b.device().problems, 0);
}

// Two builds that say to be the same, and are not.
TEST_F(JobHelpTest, ADaemonWhoseGeneratorDiffersMeasuresNothing) {
  HelpingDaemon b(*store_, {.name = "b"});
  const JobClaim claim = store_->InsertJob(v1::TuningJob(), {"a", absl::Hours(1)})->claim;
  const Expression matmul = MatMulExpression(64, 128, 96);
  ASSERT_TRUE(board_
                  ->Announce({claim.number, claim.epoch, "a",
                              EnvironmentOfTrials(KeyEnvironment::Of(FakeCpu())),
                              ProblemOfTrials(matmul, 1, {}), absl::ZeroDuration()})
                  .ok());
  std::vector<HelperSeat> helpers;
  ASSERT_TRUE(Eventually([&] {
    helpers = board_->Trade(claim, {}, {})->helpers;
    return !helpers.empty();
  }));
  const TuningParameters parameters =
      DefaultParameters(matmul, OpenMpSimdRegistersModel(), FakeCpu());
  const std::vector<OfferedTrial> offers = {
      {helpers[0].seat, 1, ToText(parameters), "another kernel's digest", ""}};
  ASSERT_TRUE(board_->Trade(claim, offers, {}).ok());
  EXPECT_TRUE(Eventually([&] { return board_->Trade(claim, {}, {})->helpers.empty(); }));
  EXPECT_TRUE(Eventually([&] { return b.IsFree(); }));
  EXPECT_EQ(b.device().measured, 0);
  // It does not come again soon.
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(b.device().problems, 1);
}

TEST_F(JobHelpTest, ProblemsThatAreNoneAreLeftAlone) {
  HelpingDaemon b(*store_, {.name = "b"});
  for (const char* problem : {"\xff", ""}) {
    const JobClaim claim = store_->InsertJob(v1::TuningJob(), {"a", absl::Hours(1)})->claim;
    ASSERT_TRUE(board_
                    ->Announce({claim.number, claim.epoch, "a",
                                EnvironmentOfTrials(KeyEnvironment::Of(FakeCpu())), problem,
                                absl::ZeroDuration()})
                    .ok());
  }
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_EQ(b.device().problems, 0);
  EXPECT_TRUE(Eventually([&] { return b.IsFree(); }));
}

TEST_F(JobHelpTest, AHelperThatDiesCostsOneTrialsTime) {
  HelpingDaemon a(*store_, {.name = "a", .each = absl::Milliseconds(20)});
  const int64_t job = a.Create(64, 40);
  const Result<int64_t> seat = board_->Join(Asking(), kOfB, absl::Milliseconds(300));
  ASSERT_TRUE(seat.ok());
  bool was_offered = false;
  EXPECT_TRUE(Eventually([&] {
    const auto offers = board_->Exchange(*seat, absl::Milliseconds(300), {}, {}, 1);
    return was_offered = offers.ok() && !offers->empty();
  }));
  ASSERT_TRUE(was_offered);
  // Nobody hears of it any more. What it had others measure.
  ASSERT_TRUE(a.Succeeds(job));
  const std::map<std::string, int> places = a.Places(job);
  EXPECT_EQ(CountAll(places), 40);
  EXPECT_THAT(places, Not(Contains(Key(kOfB))));
  EXPECT_EQ(a.Get(job).progress().failed_trials(), 0);
  EXPECT_TRUE(absl::IsAborted(board_->Exchange(*seat, absl::Hours(1), {}, {}, 1).status()));
}

// It keeps its seat, and says nothing of what it was offered.
TEST_F(JobHelpTest, WhatASilentHelperHasTheOwnerMeasuresItself) {
  HelpingDaemon a(*store_, {.name = "a"}), b(*store_, {.name = "b", .each = absl::Hours(1)});
  const int64_t job = a.Create(64, 60);
  ASSERT_TRUE(Eventually([&] { return b.device().problems > 0; }));
  ASSERT_TRUE(a.Succeeds(job));
  const std::map<std::string, int> places = a.Places(job);
  EXPECT_THAT(places, Not(Contains(Key(kOfB))));
  EXPECT_EQ(CountAll(places), 60);
  EXPECT_EQ(a.Get(job).progress().trials(), 60);
  EXPECT_EQ(a.Get(job).progress().failed_trials(), 0);
  EXPECT_EQ(a.figures().help_got, 0);
}

TEST_F(JobHelpTest, ADeviceThatGivesUpWhileItHelpsLosesNothing) {
  HelpingDaemon a(*store_, {.name = "a"}), b(*store_, {.name = "b"});
  b.device().lasts = 5;
  const int64_t job = a.Create(64, 80);
  ASSERT_TRUE(a.Succeeds(job));
  const std::map<std::string, int> places = a.Places(job);
  EXPECT_EQ(places.at(kOfB), 5);
  EXPECT_EQ(CountAll(places), 80);
  EXPECT_EQ(a.Get(job).progress().failed_trials(), 0);
  EXPECT_TRUE(Eventually([&] { return !b.IsFree(); }));  // unhealthy
}

TEST_F(JobHelpTest, ADaemonThatCannotSetTheProblemDoesNotHinder) {
  HelpingDaemon a(*store_, {.name = "a"}), b(*store_, {.name = "b"});
  b.device().cannot_set_problems = true;
  const int64_t job = a.Create(64, 40);
  ASSERT_TRUE(a.Succeeds(job));
  EXPECT_THAT(a.Places(job), Not(Contains(Key(kOfB))));
  EXPECT_EQ(b.device().problems, 1);
}

TEST_F(JobHelpTest, WhoseCompilerIsReplacedHelpsNoMore) {
  HelpingDaemon a(*store_, {.name = "a"}), b(*store_, {.name = "b"});
  const int64_t job = a.Create(64, 100'000);
  ASSERT_TRUE(Eventually([&] { return a.figures().help_got > 3; }));
  b.device().has_new_compilers = true;
  EXPECT_TRUE(Eventually([&] { return RunningDevices(a, job).size() == 1; }));
  // What it had measured before counts.
  const int measured = a.device().measured;
  ASSERT_TRUE(Eventually([&] { return a.device().measured > measured + 10; }));
  const int64_t got = a.figures().help_got;
  ASSERT_TRUE(Eventually([&] { return a.device().measured > measured + 20; }));
  EXPECT_EQ(a.figures().help_got, got);
  ASSERT_TRUE(a.queue().Cancel(job).ok());
  ASSERT_TRUE(a.HasState(job, v1::TUNING_JOB_STATE_CANCELLED));
}

TEST_F(JobHelpTest, NonsenseCountsAsAFailedTrial) {
  HelpingDaemon a(*store_, {.name = "a", .each = absl::Milliseconds(20)});
  const int64_t job = a.Create(64, 40);
  const int64_t seat = *board_->Join(Asking(), kOfB, absl::Seconds(30));
  v1::RunnerMeasured unknown, without_times, too_many;
  unknown.set_outcome(99);
  without_times.set_outcome(static_cast<int>(TrialOutcome::kOk));
  too_many.set_outcome(static_cast<int>(TrialOutcome::kCrash));
  too_many.add_times_ns(1);
  Measurement cancelled = CancelledMeasurement();
  for (const std::string& nonsense :
       {std::string("\xff"), unknown.SerializeAsString(), without_times.SerializeAsString(),
        too_many.SerializeAsString(), ToMessage(1, cancelled).SerializeAsString()}) {
    const int64_t number = AwaitOffers(seat)[0].number;
    const std::vector<MeasuredTrial> measured = {{seat, number, nonsense}};
    ASSERT_TRUE(board_->Exchange(seat, absl::Seconds(30), measured, {}, 0).ok());
  }
  EXPECT_TRUE(Eventually([&] { return a.Get(job).progress().failed_trials() == 5; }));
  ASSERT_TRUE(board_->Leave(seat).ok());
  ASSERT_TRUE(a.Succeeds(job));
  EXPECT_EQ(a.Get(job).progress().failed_trials(), 5);
  int failed = 0;
  const std::vector<v1::TuningTrial> trials = *store_->ListTrials(job, 0, 0);
  for (const v1::TuningTrial& trial : trials) {
    if (trial.outcome() != "launch error") continue;
    ++failed;
    EXPECT_EQ(trial.device(), kOfB);
    EXPECT_THAT(trial.reason(), HasSubstr("no measurement"));
  }
  EXPECT_EQ(failed, 5);
}

TEST_F(JobHelpTest, AJobThatWaitsTakesTheHelperBack) {
  HelpingDaemon a(*store_, {.name = "a", .each = absl::Milliseconds(20)});
  HelpingDaemon b(*store_, {.name = "b", .each = absl::Milliseconds(20)});
  const int64_t helped = a.Create(64, 100'000);
  ASSERT_TRUE(Eventually([&] { return RunningDevices(a, helped).size() == 2; }));
  const int64_t own = b.Create(80, 20);
  ASSERT_TRUE(b.Succeeds(own));
  EXPECT_EQ(a.Get(helped).state(), v1::TUNING_JOB_STATE_RUNNING);
  EXPECT_THAT(b.Places(own), Contains(Key(kOwn)));
  // When it is idle again it helps again.
  EXPECT_TRUE(Eventually([&] { return RunningDevices(a, helped).size() == 2; }));
  ASSERT_TRUE(a.queue().Cancel(helped).ok());
  ASSERT_TRUE(a.HasState(helped, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_EQ(a.Get(helped).progress().failed_trials(), 0);
}

TEST_F(JobHelpTest, ADaemonThatStopsWhileItHelpsLosesNothing) {
  HelpingDaemon a(*store_, {.name = "a", .each = absl::Milliseconds(10)});
  auto b = std::make_unique<HelpingDaemon>(
      *store_, HelpingDaemonOptions{.name = "b", .each = absl::Milliseconds(10)});
  const int64_t job = a.Create(64, 100);
  ASSERT_TRUE(Eventually([&] { return b->device().measured > 3; }));
  b.reset();
  ASSERT_TRUE(a.Succeeds(job));
  const std::map<std::string, int> places = a.Places(job);
  EXPECT_EQ(CountAll(places), 100);
  EXPECT_THAT(places, Contains(testing::Pair(kOfB, Gt(2))));
  EXPECT_EQ(a.Get(job).progress().failed_trials(), 0);
}

TEST_F(JobHelpTest, AnOwnerThatLosesItsJobOffersNothingAnyMore) {
  HelpingDaemon a(*store_, {.name = "a", .job_lease = absl::Milliseconds(10)});
  HelpingDaemon b(*store_, {.name = "b"});
  const int64_t job = a.Create(64, 100'000);
  ASSERT_TRUE(Eventually([&] { return b.device().measured > 3; }));
  const std::vector<ClaimedJob> claimed =
      *store_->ClaimJobs({"successor", absl::Hours(1)}, {.number = job});
  ASSERT_EQ(claimed.size(), 1u);
  // Though the owner has not heard of it yet.
  EXPECT_TRUE(Eventually([&] { return RunningDevices(a, job).size() == 1; }));
  EXPECT_TRUE(Eventually([&] { return b.IsFree(); }));
  EXPECT_THAT(*board_->Find(EnvironmentOfTrials(KeyEnvironment::Of(FakeCpu()))), IsEmpty());
  const int measured = b.device().measured;
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(b.device().measured, measured);
  a.queue().RenewLeases();
}

TEST_F(JobHelpTest, ABoardThatWasForgottenIsMadeAgain) {
  HelpingDaemon a(*store_, {.name = "a"}), b(*store_, {.name = "b"});
  const int64_t job = a.Create(64, 100'000);
  ASSERT_TRUE(Eventually([&] { return b.device().measured > 3; }));
  const HelpedJob asking = Asking();
  ASSERT_TRUE(board_->End({asking.number, asking.epoch}).ok());
  ASSERT_TRUE(Eventually([&] { return b.device().problems == 2; }));
  const int before = b.device().measured;
  EXPECT_TRUE(Eventually([&] { return b.device().measured > before + 3; }));
  ASSERT_TRUE(a.queue().Cancel(job).ok());
  ASSERT_TRUE(a.HasState(job, v1::TUNING_JOB_STATE_CANCELLED));
}

TEST_F(JobHelpTest, AHelperTakesOverWhatItsOwnerDiesOf) {
  HelpingDaemon b(*store_, {.name = "b"});
  int64_t job = 0;
  {
    HelpingDaemon a(*store_, {.name = "a", .job_lease = absl::ZeroDuration()});
    job = a.Create(64, 60);
    ASSERT_TRUE(Eventually([&] { return a.device().measured > 3; }));
  }
  // It goes on from the trials that there are, of whoever has measured them.
  ASSERT_TRUE(Eventually([&] {
    b.queue().RenewLeases();
    return b.Get(job).state() == v1::TUNING_JOB_STATE_SUCCEEDED;
  }));
  EXPECT_GE(b.Get(job).progress().trials(), 60);
}

}  // namespace
}  // namespace mdh::job_help_test
