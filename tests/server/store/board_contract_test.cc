// What every board of trials does.
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/store/store_under_test.h"
#include "tests/server/store/stored_samples.h"

namespace mdh::board_contract_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Hours(1);
constexpr absl::Duration kShort = absl::Milliseconds(20);
constexpr const char* kHere = "a CPU\na compiler";

auto Numbered(int64_t number) { return Field(&OfferedTrial::number, number); }
auto MeasuredAs(const std::string& bytes) { return Field(&MeasuredTrial::measured, bytes); }

class BoardContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    if (IsSkipped()) return;
    board_ = *store_->OpenTrialBoard();
    claim_ = Insert();
  }
  void TearDown() override { board_.reset(); }
  // A job in the hands of an owner.
  JobClaim Insert(const std::string& owner = "owner", absl::Duration lease = kLong) {
    return store_->InsertJob(JobIn(v1::TUNING_JOB_STATE_RUNNING), {owner, lease})->claim;
  }
  // It is another's from now on.
  JobClaim TakeOver(const JobClaim& claim) {
    JobLease nobody;
    EXPECT_TRUE(store_->RenewLeases({"owner", absl::ZeroDuration()}).ok());
    return store_->ClaimJobs({"successor", kLong}, {.number = claim.number})->front().claim;
  }
  static HelpedJob AskingFor(const JobClaim& claim, const std::string& environment = kHere) {
    return {claim.number,    claim.epoch, "owner", environment, std::string("a\0problem", 9),
            absl::Minutes(5)};
  }
  int64_t Join(const JobClaim& claim, const std::string& name, absl::Duration lease = kLong) {
    const Result<int64_t> seat = board_->Join(AskingFor(claim), name, lease);
    EXPECT_TRUE(seat.ok()) << seat.status();
    return seat.ok() ? *seat : 0;
  }
  TrialBoard::News Trade(std::vector<OfferedTrial> offers = {},
                         std::vector<MeasuredTrial> settled = {}) {
    const Result<TrialBoard::News> news = board_->Trade(claim_, offers, settled);
    EXPECT_TRUE(news.ok()) << news.status();
    return news.ok() ? *news : TrialBoard::News();
  }
  std::vector<OfferedTrial> Exchange(int64_t seat, std::vector<MeasuredTrial> measured = {},
                                     std::vector<int64_t> in_work = {}, int room = 10) {
    const Result<std::vector<OfferedTrial>> offers =
        board_->Exchange(seat, kLong, measured, in_work, room);
    EXPECT_TRUE(offers.ok()) << offers.status();
    return offers.ok() ? *offers : std::vector<OfferedTrial>();
  }
  static OfferedTrial Offer(int64_t seat, int64_t number) {
    return {seat, number, "parameters " + std::to_string(number), "digest",
            std::string("op\0tions", 8)};
  }

  std::shared_ptr<TrialBoard> board_;
  JobClaim claim_;
};

INSTANTIATE_TEST_SUITE_P(Stores, BoardContract, ::testing::ValuesIn(Engines()), EngineName);

TEST_P(BoardContract, HelpersFindJobsOfTheirEnvironmentWithAllThatIsSaidOfThem) {
  EXPECT_THAT(*board_->Find(kHere), IsEmpty());
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  const JobClaim elsewhere = Insert();
  ASSERT_TRUE(board_->Announce(AskingFor(elsewhere, "another compiler")).ok());
  const Result<std::vector<HelpedJob>> found = board_->Find(kHere);
  ASSERT_THAT(*found, SizeIs(1));
  const HelpedJob& job = found->front();
  EXPECT_EQ(job.number, claim_.number);
  EXPECT_EQ(job.epoch, claim_.epoch);
  EXPECT_EQ(job.owner, "owner");
  EXPECT_EQ(job.environment, kHere);
  EXPECT_EQ(job.problem, std::string("a\0problem", 9));
  EXPECT_LE(job.time_left, absl::Minutes(5));
  EXPECT_GT(job.time_left, absl::Minutes(4));
  ASSERT_TRUE(board_->End(claim_).ok());
  EXPECT_THAT(*board_->Find(kHere), IsEmpty());
}

TEST_P(BoardContract, AJobWithoutALimitOfTimeHasNone) {
  HelpedJob job = AskingFor(claim_);
  job.time_left = absl::ZeroDuration();
  ASSERT_TRUE(board_->Announce(job).ok());
  EXPECT_EQ(board_->Find(kHere)->front().time_left, absl::ZeroDuration());
}

TEST_P(BoardContract, ATrialGoesToItsHelperAndComesBackMeasured) {
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  EXPECT_THAT(Trade().helpers, IsEmpty());
  const int64_t one = Join(claim_, "nodes/b/devices/cpu"),
                two = Join(claim_, "nodes/c/devices/cpu");
  const TrialBoard::News news = Trade({Offer(one, 1), Offer(one, 2), Offer(two, 1)});
  EXPECT_THAT(news.helpers, ElementsAre(Field(&HelperSeat::name, "nodes/b/devices/cpu"),
                                        Field(&HelperSeat::name, "nodes/c/devices/cpu")));
  const std::vector<OfferedTrial> first = Exchange(one, {}, {}, 1);
  ASSERT_THAT(first, ElementsAre(Numbered(1)));
  EXPECT_EQ(first[0].seat, one);
  EXPECT_EQ(first[0].parameters, "parameters 1");
  EXPECT_EQ(first[0].kernel_digest, "digest");
  EXPECT_EQ(first[0].options, std::string("op\0tions", 8));
  // What it has in work is not given again; what it may have missed is.
  EXPECT_THAT(Exchange(one, {}, {1}), ElementsAre(Numbered(2)));
  EXPECT_THAT(Exchange(one), ElementsAre(Numbered(1), Numbered(2)));
  EXPECT_THAT(Exchange(one, {}, {}, 0), IsEmpty());
  EXPECT_THAT(Exchange(one, {{one, 1, "fast"}}, {2}), IsEmpty());
  EXPECT_THAT(Trade().measured, ElementsAre(MeasuredAs("fast")));
  EXPECT_THAT(Trade().measured, ElementsAre(MeasuredAs("fast")));  // until it is settled
  EXPECT_THAT(Trade({}, {{one, 1}}).measured, IsEmpty());
  EXPECT_THAT(Exchange(two), ElementsAre(Numbered(1)));
}

TEST_P(BoardContract, WhatIsTakenBackIsNotGivenAndDoesNotCount) {
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  const int64_t seat = Join(claim_, "helper");
  Trade({Offer(seat, 1), Offer(seat, 2)});
  ASSERT_THAT(Exchange(seat, {}, {}, 1), ElementsAre(Numbered(1)));
  Trade({}, {{seat, 1}});
  EXPECT_THAT(Exchange(seat, {{seat, 1, "late"}}), ElementsAre(Numbered(2)));
  EXPECT_THAT(Trade().measured, IsEmpty());
}

TEST_P(BoardContract, OffersMayBeMadeTwice) {
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  const int64_t seat = Join(claim_, "helper");
  Trade({Offer(seat, 1)});
  Exchange(seat, {{seat, 1, "fast"}});
  EXPECT_THAT(Trade({Offer(seat, 1)}).measured, ElementsAre(MeasuredAs("fast")));
  EXPECT_THAT(Exchange(seat), IsEmpty());
}

TEST_P(BoardContract, AHelperThatIsNotHeardOfHasGivenItsTrialsUp) {
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  const int64_t seat = Join(claim_, "helper", kShort), other = Join(claim_, "other");
  Trade({Offer(seat, 1)});
  absl::SleepFor(3 * kShort);
  // Its result does not count, whether or not the owner has noticed.
  const std::vector<MeasuredTrial> late = {{seat, 1, "late"}};
  EXPECT_TRUE(absl::IsAborted(board_->Exchange(seat, kLong, late, {}, 1).status()));
  const TrialBoard::News news = Trade({Offer(other, 1), Offer(seat, 2)});
  EXPECT_THAT(news.helpers, ElementsAre(Field(&HelperSeat::seat, other)));
  EXPECT_THAT(news.measured, IsEmpty());
  EXPECT_TRUE(absl::IsAborted(board_->Exchange(seat, kLong, late, {}, 1).status()));
  EXPECT_THAT(Trade().measured, IsEmpty());
  EXPECT_THAT(Exchange(other), ElementsAre(Numbered(1)));
}

TEST_P(BoardContract, AHelperThatLeavesTakesWhatWasOfferedToItAway) {
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  const int64_t seat = Join(claim_, "helper");
  Trade({Offer(seat, 1)});
  Exchange(seat, {{seat, 1, "fast"}});
  ASSERT_TRUE(board_->Leave(seat).ok());
  ASSERT_TRUE(board_->Leave(seat).ok());
  EXPECT_THAT(Trade().helpers, IsEmpty());
  EXPECT_THAT(Trade().measured, IsEmpty());
  EXPECT_TRUE(absl::IsAborted(board_->Exchange(seat, kLong, {}, {}, 1).status()));
  // One that comes again is another one.
  EXPECT_NE(Join(claim_, "helper"), seat);
  EXPECT_THAT(Trade().helpers, SizeIs(1));
}

TEST_P(BoardContract, AnOwnerThatLostItsJobIsRefusedAndItsOffersAreGone) {
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  const int64_t seat = Join(claim_, "helper");
  Trade({Offer(seat, 1)});
  const JobClaim next = TakeOver(claim_);
  EXPECT_TRUE(absl::IsAborted(board_->Trade(claim_, {}, {}).status()));
  EXPECT_TRUE(absl::IsAborted(board_->Announce(AskingFor(claim_))));
  EXPECT_TRUE(absl::IsAborted(board_->Exchange(seat, kLong, {}, {}, 1).status()));
  EXPECT_TRUE(absl::IsAborted(board_->Join(AskingFor(claim_), "late", kLong).status()));
  EXPECT_THAT(*board_->Find(kHere), IsEmpty());
  // Its successor begins anew.
  EXPECT_TRUE(absl::IsNotFound(board_->Trade(next, {}, {}).status()));
  ASSERT_TRUE(board_->Announce(AskingFor(next)).ok());
  ASSERT_TRUE(board_->End(claim_).ok());  // is not its predecessor's to end
  EXPECT_THAT(*board_->Find(kHere), SizeIs(1));
  claim_ = next;
  EXPECT_THAT(Trade({Offer(seat, 2)}).helpers, IsEmpty());
  const int64_t again = Join(next, "helper");
  EXPECT_THAT(Exchange(again), IsEmpty());
}

TEST_P(BoardContract, AJobThatHasEndedNeedsNoHelp) {
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  const int64_t seat = Join(claim_, "helper");
  ASSERT_TRUE(store_->UpdateJob(claim_, JobIn(v1::TUNING_JOB_STATE_SUCCEEDED)).ok());
  EXPECT_THAT(*board_->Find(kHere), IsEmpty());
  EXPECT_TRUE(absl::IsAborted(board_->Announce(AskingFor(claim_))));
  EXPECT_TRUE(absl::IsAborted(board_->Join(AskingFor(claim_), "helper", kLong).status()));
  EXPECT_TRUE(absl::IsAborted(board_->Trade(claim_, {}, {}).status()));
  EXPECT_TRUE(absl::IsAborted(board_->Exchange(seat, kLong, {}, {}, 1).status()));
}

TEST_P(BoardContract, WhatIsNotAnnouncedIsNotTraded) {
  EXPECT_TRUE(absl::IsNotFound(board_->Trade(claim_, {}, {}).status()));
  EXPECT_TRUE(absl::IsAborted(board_->Join(AskingFor(claim_), "helper", kLong).status()));
  EXPECT_TRUE(absl::IsAborted(board_->Exchange(7, kLong, {}, {}, 1).status()));
  EXPECT_TRUE(board_->End(claim_).ok());
  EXPECT_TRUE(absl::IsAborted(board_->Announce(AskingFor({99, 1}))));
}

TEST_P(BoardContract, AnnouncingAgainBeginsAnew) {
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  const int64_t seat = Join(claim_, "helper");
  Trade({Offer(seat, 1)});
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  EXPECT_THAT(Trade().helpers, IsEmpty());
  EXPECT_TRUE(absl::IsAborted(board_->Exchange(seat, kLong, {}, {}, 1).status()));
}

// Without news it waits much longer than the test may take.
TEST_P(BoardContract, WhoWaitsIsWokenByWhatIsWritten) {
  const std::unique_ptr<BoardWatch> jobs = *board_->WatchSeat(0);
  const std::unique_ptr<BoardWatch> owner = *board_->WatchJob(claim_.number);
  const auto is_woken = [](BoardWatch& watch, const std::function<void()>& write) {
    for (int n = 0; n < 3; ++n) watch.Wait(absl::ZeroDuration());  // what was before
    const absl::Time start = absl::Now();
    std::thread writing([&] {
      absl::SleepFor(absl::Milliseconds(10));
      write();
    });
    watch.Wait(absl::Seconds(30));
    writing.join();
    return absl::Now() - start < absl::Seconds(10);
  };
  EXPECT_TRUE(is_woken(*jobs, [&] { ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok()); }));
  int64_t seat = 0;
  EXPECT_TRUE(is_woken(*owner, [&] { seat = Join(claim_, "helper"); }));
  const std::unique_ptr<BoardWatch> helper = *board_->WatchSeat(seat);
  EXPECT_TRUE(is_woken(*helper, [&] { Trade({Offer(seat, 1)}); }));
  EXPECT_TRUE(is_woken(*owner, [&] { Exchange(seat, {{seat, 1, "fast"}}); }));
  EXPECT_TRUE(is_woken(*helper, [&] { helper->Wake(); }));
  EXPECT_TRUE(is_woken(*owner, [&] { ASSERT_TRUE(board_->Leave(seat).ok()); }));
  const int64_t last = Join(claim_, "helper");
  const std::unique_ptr<BoardWatch> ending = *board_->WatchSeat(last);
  EXPECT_TRUE(is_woken(*ending, [&] { ASSERT_TRUE(board_->End(claim_).ok()); }));
}

// Each trial is measured by exactly one of the helpers that want it at the same time.
TEST_P(BoardContract, ManyHelpersAtOnceLoseNothing) {
  constexpr int kHelpers = 4, kTrialsEach = 25;
  ASSERT_TRUE(board_->Announce(AskingFor(claim_)).ok());
  std::vector<std::thread> helpers;
  for (int n = 0; n < kHelpers; ++n) {
    helpers.emplace_back([&, n] {
      const int64_t seat = Join(claim_, "helper " + std::to_string(n));
      const std::unique_ptr<BoardWatch> watch = *board_->WatchSeat(seat);
      std::vector<MeasuredTrial> measured;
      for (int done = 0; done < kTrialsEach;) {
        const std::vector<OfferedTrial> offers = Exchange(seat, measured);
        measured.clear();
        for (const OfferedTrial& offer : offers) {
          measured.push_back({seat, offer.number, "of " + std::to_string(n)});
          ++done;
        }
        if (offers.empty()) watch->Wait(absl::Milliseconds(50));
      }
      Exchange(seat, measured);
    });
  }
  std::map<int64_t, int64_t> offered, settled;  // by seat
  std::vector<MeasuredTrial> done;
  int64_t all = 0;
  const std::unique_ptr<BoardWatch> watch = *board_->WatchJob(claim_.number);
  for (int look = 0; look < 2'000 && all < kHelpers * kTrialsEach; ++look) {
    std::vector<OfferedTrial> offers;
    for (auto& [seat, count] : offered) {
      if (count < kTrialsEach && count - settled[seat] < 2) offers.push_back(Offer(seat, ++count));
    }
    const TrialBoard::News news = Trade(offers, done);
    done = news.measured;
    for (const MeasuredTrial& trial : done) ++settled[trial.seat];
    all += static_cast<int64_t>(done.size());
    for (const HelperSeat& helper : news.helpers) offered.try_emplace(helper.seat, 0);
    if (done.empty()) watch->Wait(absl::Milliseconds(20));
  }
  for (std::thread& helper : helpers) helper.join();
  EXPECT_EQ(all, kHelpers * kTrialsEach);
}

}  // namespace
}  // namespace mdh::board_contract_test
