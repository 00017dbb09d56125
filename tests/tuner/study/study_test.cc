#include "tuner/study/study.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/error_message.h"
#include "tuner/space/formula_bound.h"

namespace mdh::study_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLease = 60 * kSecond;

// a and b of 1..10 with a * b <= 40.
Search NewSearch(int lookahead = 4, const std::string& technique = "auc_bandit") {
  const Formula a = Formula::Parameter("a");
  const Formula b = Formula::Parameter("b");
  Result<SearchSpace> space =
      SearchSpace::Create({{"a", *Range::Interval(1, 10)}, {"b", *Range::Interval(1, 10)}},
                          {Constraint(a * b <= Formula(40))});
  EXPECT_TRUE(space.ok()) << space.status();
  SearchOptions options;
  options.technique = technique;
  options.seed = 7;
  options.lookahead = lookahead;
  Result<Search> search = Search::Create(*std::move(space), std::move(options));
  EXPECT_TRUE(search.ok()) << search.status();
  return *std::move(search);
}

// The same with a lower bound on costs.
Search BoundedSearch(const Formula& bound, const std::string& technique, double gap = 0) {
  const Search plain = NewSearch();
  SearchOptions options = plain.options();
  options.technique = technique;
  options.lookahead = 1;
  options.gap = gap;
  options.bound = std::make_shared<FormulaBound>(bound, plain.space().parameters());
  Result<Search> search = Search::Create(plain.space(), std::move(options));
  EXPECT_TRUE(search.ok()) << search.status();
  return *std::move(search);
}

// Fails where a and b are equal.
Cost CostOf(const Configuration& configuration) {
  const auto a = static_cast<double>(configuration[0]);
  const auto b = static_cast<double>(configuration[1]);
  if (a == b) return std::nullopt;
  return (a - 3) * (a - 3) + (b - 7) * (b - 7) + 0.5;
}

// A study with all that a store would keep of it.
class JournalledStudy {
 public:
  explicit JournalledStudy(const std::string& abort = "", int lookahead = 4)
      : abort_(abort), lookahead_(lookahead), study_(NewSearch(lookahead), Abort()) {}

  std::vector<LeasedTrial> Ask(int count, int64_t now_ns, int64_t lease_ns = kLease) {
    std::vector<LeasedTrial> given = study_.Ask(count, lease_ns, now_ns);
    for (const LeasedTrial& trial : given) leased_.insert_or_assign(trial.proposal.number, trial);
    return given;
  }
  Result<std::vector<ToldTrial>> Tell(const std::vector<ToldOutcome>& outcomes, int64_t now_ns) {
    Result<std::vector<ToldTrial>> news = study_.Tell(outcomes, now_ns);
    if (!news.ok()) return news;
    for (const ToldTrial& trial : *news) {
      leased_.erase(trial.evaluation.number);
      told_.push_back(trial);
    }
    return news;
  }
  void TellCost(const LeasedTrial& trial, int64_t now_ns) {
    const Result<std::vector<ToldTrial>> news =
        Tell({{trial.proposal.number, CostOf(trial.proposal.configuration)}}, now_ns);
    EXPECT_TRUE(news.ok()) << news.status();
  }
  StudyJournal journal() const {
    StudyJournal journal{study_.state(), study_.state_reason(), {}, told_};
    for (const auto& [number, trial] : leased_) journal.leased.push_back(trial);
    return journal;
  }
  // Goes on from the journal alone.
  void Restart() {
    Result<Study> resumed = Study::Resume(NewSearch(lookahead_), Abort(), journal());
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->state(), study_.state());
    EXPECT_EQ(resumed->state_reason(), study_.state_reason());
    EXPECT_EQ(resumed->evaluations(), study_.evaluations());
    EXPECT_EQ(resumed->valid_evaluations(), study_.valid_evaluations());
    EXPECT_EQ(resumed->outstanding(), study_.outstanding());
    EXPECT_EQ(resumed->active_ns(), study_.active_ns());
    EXPECT_EQ(resumed->last_expire_ns(), study_.last_expire_ns());
    EXPECT_EQ(resumed->best().has_value(), study_.best().has_value());
    if (study_.best().has_value()) {
      EXPECT_EQ(resumed->best()->number, study_.best()->number);
      EXPECT_EQ(resumed->best()->configuration, study_.best()->configuration);
    }
    study_ = *std::move(resumed);
  }
  Study& study() { return study_; }
  // Configurations by number.
  std::map<int64_t, Configuration> Trace() const {
    std::map<int64_t, Configuration> trace;
    for (const ToldTrial& trial : told_) {
      trace[trial.evaluation.number] = trial.evaluation.configuration;
    }
    return trace;
  }

 private:
  std::optional<AbortCondition> Abort() const {
    if (abort_.empty()) return std::nullopt;
    Result<AbortCondition> abort = AbortCondition::Parse(abort_);
    EXPECT_TRUE(abort.ok()) << abort.status();
    return *std::move(abort);
  }

  const std::string abort_;
  const int lookahead_;
  Study study_;
  std::map<int64_t, LeasedTrial> leased_;
  std::vector<ToldTrial> told_;
};

// One client that tells each cost before it asks again.
void RunAlone(JournalledStudy& study, int64_t begin_ns = 0) {
  for (int64_t now = begin_ns;; now += kSecond) {
    const std::vector<LeasedTrial> given = study.Ask(1, now);
    if (given.empty()) return;
    study.TellCost(given[0], now + kSecond / 2);
  }
}

TEST(StudyTest, EndsWithTheSpace) {
  JournalledStudy study;
  RunAlone(study);
  EXPECT_EQ(study.study().state(), v1::STUDY_STATE_FINISHED);
  EXPECT_EQ(study.study().state_reason(), "every configuration was evaluated");
  EXPECT_EQ(study.study().space().count(), study.study().evaluations());
  EXPECT_LT(study.study().valid_evaluations(), study.study().evaluations());
  EXPECT_EQ(study.study().outstanding(), 0);
  EXPECT_THAT(study.study().best()->configuration, ElementsAre(3, 7));
  EXPECT_EQ(study.study().best()->cost, 0.5);
}

TEST(StudyTest, GivesEachConfigurationToOneClientOnly) {
  JournalledStudy study;
  const std::vector<LeasedTrial> first = study.Ask(3, 0);
  const std::vector<LeasedTrial> second = study.Ask(3, 1);
  ASSERT_THAT(first, SizeIs(3));
  ASSERT_THAT(second, SizeIs(1)) << "the lookahead is 4";
  EXPECT_EQ(second[0].proposal.number, 4);
  EXPECT_THAT(study.Ask(3, 2), IsEmpty());
  EXPECT_EQ(study.study().outstanding(), 4);
  EXPECT_EQ(study.study().last_expire_ns(), 1 + kLease);
}

TEST(StudyTest, WhatGotLostIsGivenOutAgainWithItsNumber) {
  JournalledStudy study;
  const std::vector<LeasedTrial> first = study.Ask(2, 0);
  const std::vector<LeasedTrial> later = study.Ask(2, 10);
  EXPECT_THAT(study.Ask(4, kLease - 1), IsEmpty());
  const std::vector<LeasedTrial> again = study.Ask(4, kLease);
  ASSERT_THAT(again, SizeIs(2));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(again[i].proposal.number, first[i].proposal.number);
    EXPECT_EQ(again[i].proposal.configuration, first[i].proposal.configuration);
    EXPECT_EQ(again[i].expire_ns, 2 * kLease);
  }
  // The one that was thought lost tells after all; the other does, too.
  study.TellCost(first[0], kLease + 1);
  study.TellCost(again[0], kLease + 2);
  EXPECT_EQ(study.study().evaluations(), 1);
  EXPECT_EQ(study.Ask(1, kLease + 20)[0].proposal.number, later[0].proposal.number);
}

TEST(StudyTest, AVeryLongLeaseDoesNotOverflow) {
  JournalledStudy study;
  const int64_t never = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(study.Ask(1, kSecond, never)[0].expire_ns, never);
}

TEST(StudyTest, ClientsThatAreSlowOrDieChangeNothingOfTheTrace) {
  JournalledStudy alone;
  RunAlone(alone);
  std::mt19937 random(5);
  JournalledStudy study;
  std::vector<LeasedTrial> running;
  for (int64_t now = 0; study.study().state() == v1::STUDY_STATE_ACTIVE; now += kSecond) {
    for (LeasedTrial& trial : study.Ask(1 + static_cast<int>(random() % 4), now)) {
      if (random() % 4 != 0) running.push_back(std::move(trial));  // else its client dies
    }
    if (running.empty()) {
      now += kLease;
      continue;
    }
    std::swap(running[random() % running.size()], running.back());
    study.TellCost(running.back(), now);
    running.pop_back();
    if (random() % 16 == 0) study.Restart();
  }
  EXPECT_EQ(study.Trace(), alone.Trace());
}

TEST(StudyTest, GoesOnAfterARestartAtAnyPoint) {
  JournalledStudy alone("evaluations(40)");
  RunAlone(alone);
  for (int restart = 0; restart <= 40; ++restart) {
    JournalledStudy study("evaluations(40)");
    for (int n = 0; n < restart; ++n) {
      study.TellCost(study.Ask(1, n * kSecond)[0], n * kSecond + kSecond / 2);
    }
    study.Restart();
    RunAlone(study, restart * kSecond);
    EXPECT_EQ(study.Trace(), alone.Trace()) << restart;
    EXPECT_EQ(study.study().active_ns(), alone.study().active_ns());
  }
}

TEST(StudyTest, ARestartRemembersWhenCostsWereTold) {
  // Without the times of the improvements the condition would hold at another point.
  const std::string abort = "speedup(1.5, 20s)";
  JournalledStudy alone(abort);
  RunAlone(alone);
  EXPECT_EQ(alone.study().state(), v1::STUDY_STATE_FINISHED);
  JournalledStudy study(abort);
  for (int64_t now = 0; study.study().state() == v1::STUDY_STATE_ACTIVE; now += kSecond) {
    study.Restart();
    const std::vector<LeasedTrial> given = study.Ask(1, now);
    ASSERT_THAT(given, SizeIs(1));
    study.Restart();
    study.TellCost(given[0], now + kSecond / 2);
  }
  EXPECT_EQ(study.Trace(), alone.Trace());
  EXPECT_EQ(study.study().state_reason(), alone.study().state_reason());
}

TEST(StudyTest, GivesOutNoMoreThanTheAbortConditionAllows) {
  JournalledStudy study("evaluations(5)", 8);
  const std::vector<LeasedTrial> given = study.Ask(8, 0);
  ASSERT_THAT(given, SizeIs(5));
  EXPECT_THAT(study.Ask(1, 1), IsEmpty());
  for (int i = 0; i < 4; ++i) study.TellCost(given[i], kSecond);
  EXPECT_EQ(study.study().state(), v1::STUDY_STATE_ACTIVE);
  // The fifth got lost and is given to another.
  ASSERT_THAT(study.Ask(8, kLease), SizeIs(1));
  study.TellCost(given[4], kLease + 1);
  EXPECT_EQ(study.study().state(), v1::STUDY_STATE_FINISHED);
  EXPECT_EQ(study.study().state_reason(), "the abort condition holds: evaluations(5)");
  EXPECT_THAT(study.Ask(8, 3 * kLease), IsEmpty());
}

TEST(StudyTest, LateCostsCountAndDoNotOpenItAgain) {
  JournalledStudy study("cost(1000)");
  const std::vector<LeasedTrial> given = study.Ask(2, 0);
  ASSERT_TRUE(study.Tell({{given[0].proposal.number, 999.0}}, 1).ok());
  EXPECT_EQ(study.study().state(), v1::STUDY_STATE_FINISHED);
  EXPECT_THAT(study.Ask(4, 2 * kLease), IsEmpty());
  ASSERT_TRUE(study.Tell({{given[1].proposal.number, 1.0}}, 3 * kLease).ok());
  EXPECT_EQ(study.study().best()->cost, 1.0);
  EXPECT_EQ(study.study().state(), v1::STUDY_STATE_FINISHED);
  study.Restart();
  EXPECT_THAT(study.Ask(4, 4 * kLease), IsEmpty());
}

TEST(StudyTest, CancelledGivesNothingOut) {
  JournalledStudy study;
  const std::vector<LeasedTrial> given = study.Ask(1, 0);
  study.study().Cancel();
  EXPECT_THAT(study.Ask(1, 2 * kLease), IsEmpty());
  study.TellCost(given[0], 1);
  EXPECT_EQ(study.study().evaluations(), 1);
  EXPECT_EQ(study.study().state(), v1::STUDY_STATE_CANCELLED);
  study.Restart();
  EXPECT_EQ(study.study().state_reason(), "");

  JournalledStudy finished("evaluations(1)");
  RunAlone(finished);
  finished.study().Cancel();
  EXPECT_EQ(finished.study().state(), v1::STUDY_STATE_FINISHED);
}

TEST(StudyTest, TakesAllOutcomesOrNone) {
  JournalledStudy study;
  ASSERT_THAT(study.Ask(3, 0), SizeIs(3));
  ASSERT_TRUE(study.Tell({{1, 5.0}, {2, std::nullopt}, {1, 5.0}}, 1).ok());
  EXPECT_EQ(study.study().evaluations(), 2);
  EXPECT_THAT(*study.Tell({{2, std::nullopt}, {1, 5.0}}, 1), IsEmpty());

  const auto refusal = [&](const std::vector<ToldOutcome>& outcomes) {
    const Result<std::vector<ToldTrial>> news = study.Tell(outcomes, 2);
    EXPECT_EQ(study.study().evaluations(), 2);
    return news.status();
  };
  EXPECT_EQ(refusal({{3, 1.0}, {4, 1.0}}), absl::NotFoundError("trial 4 was not asked for"));
  EXPECT_EQ(refusal({{3, 1.0}, {0, 1.0}}), absl::NotFoundError("trial 0 was not asked for"));
  EXPECT_EQ(
      refusal({{3, 1.0}, {1, 6.0}}),
      absl::AlreadyExistsError("trial 1 was told before with the cost 5, now with the cost 6"));
  EXPECT_EQ(
      refusal({{1, std::nullopt}}),
      absl::AlreadyExistsError("trial 1 was told before with the cost 5, now with a failure"));
  EXPECT_EQ(refusal({{2, 1.0}}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(refusal({{3, 1.0}, {3, 2.0}}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(refusal({{3, std::nan("")}}),
            absl::InvalidArgumentError("the cost of trial 3, nan, is not finite"));
  EXPECT_EQ(refusal({{3, std::numeric_limits<double>::infinity()}}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(StudyTest, OnlyTimeThatLedToACostIsActive) {
  JournalledStudy study("duration(100s)", 8);
  const std::vector<LeasedTrial> two = study.Ask(2, 0);
  study.TellCost(two[0], 10 * kSecond);
  EXPECT_EQ(study.study().active_ns(), 10 * kSecond);
  study.TellCost(two[1], 15 * kSecond);
  EXPECT_EQ(study.study().active_ns(), 15 * kSecond) << "what overlaps counts once";
  // A pause, a client that dies, and another one that gets its trial.
  ASSERT_THAT(study.Ask(1, 1'000 * kSecond), SizeIs(1));
  study.Restart();
  const std::vector<LeasedTrial> again = study.Ask(1, 5'000 * kSecond);
  EXPECT_EQ(again[0].proposal.number, 3);
  study.TellCost(again[0], 5'020 * kSecond);
  EXPECT_EQ(study.study().active_ns(), 35 * kSecond);
  // A clock that was put back.
  study.TellCost(study.Ask(1, 5'020 * kSecond)[0], 4'000 * kSecond);
  EXPECT_EQ(study.study().active_ns(), 35 * kSecond);
  EXPECT_EQ(study.study().state(), v1::STUDY_STATE_ACTIVE);
  study.TellCost(study.Ask(1, 6'000 * kSecond)[0], 6'065 * kSecond);
  EXPECT_EQ(study.study().state(), v1::STUDY_STATE_FINISHED);
}

// Asks and tells until nothing is given out any more; gives what it takes to do so elsewhere.
StudyJournal Finish(Study& study) {
  StudyJournal journal;
  for (int64_t now = 0;; ++now) {
    const std::vector<LeasedTrial> given = study.Ask(1, kLease, now);
    if (given.empty()) break;
    const auto told =
        study.Tell({{given[0].proposal.number, CostOf(given[0].proposal.configuration)}}, now);
    EXPECT_TRUE(told.ok()) << told.status();
    journal.told.insert(journal.told.end(), told->begin(), told->end());
  }
  journal.state = study.state();
  journal.state_reason = study.state_reason();
  return journal;
}

TEST(StudyTest, LowerBoundsLeaveOutWhatIsNoBetter) {
  const Formula a = Formula::Parameter("a"), b = Formula::Parameter("b");
  const Formula bound = (a - 3) * (a - 3) + (b - 7) * (b - 7);
  for (const std::string technique : {"auc_bandit", "random", "exhaustive", "best_first"}) {
    SCOPED_TRACE(technique);
    Study study(BoundedSearch(bound, technique), std::nullopt);
    const StudyJournal journal = Finish(study);
    EXPECT_EQ(study.state(), v1::STUDY_STATE_FINISHED);
    EXPECT_EQ(study.state_reason(),
              "no configuration is better than the best, as the lower bound shows");
    EXPECT_EQ(study.best()->configuration, (Configuration{3, 7}));
    EXPECT_LT(study.evaluations(), 40);
    EXPECT_EQ(study.lower_bound_violation(), "");
    const auto resumed = Study::Resume(BoundedSearch(bound, technique), std::nullopt, journal);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->evaluations(), study.evaluations());
    EXPECT_GT(study.left_out(), technique == "best_first" ? -1 : 10);
  }
  // What is proven is less where less is asked for.
  Study near(BoundedSearch(bound + Formula(0.25), "best_first", 0.5), std::nullopt);
  Finish(near);
  EXPECT_EQ(near.state_reason(),
            "the best is within 50 % of the best possible, as the lower bound shows");
}

TEST(StudyTest, LowerBoundsThatAreWrongCountNoMore) {
  const Formula a = Formula::Parameter("a"), b = Formula::Parameter("b");
  const Formula bound = (a - 3) * (a - 3) + (b - 7) * (b - 7) + If(a == 1, 200, 0);
  Study study(BoundedSearch(bound, "exhaustive"), std::nullopt);
  const StudyJournal journal = Finish(study);
  EXPECT_EQ(study.state_reason(), "every configuration was evaluated");
  EXPECT_EQ(study.left_out(), 0);
  EXPECT_EQ(study.best()->configuration, (Configuration{3, 7}));
  EXPECT_THAT(study.lower_bound_violation(), HasSubstr("less than its lower bound of "));
  EXPECT_THAT(study.lower_bound_violation(), HasSubstr(", so nothing is left out any more"));
  const auto resumed = Study::Resume(BoundedSearch(bound, "exhaustive"), std::nullopt, journal);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->lower_bound_violation(), study.lower_bound_violation());
}

TEST(StudyTest, JournalsOfOtherSearchesAreRefused) {
  JournalledStudy study;
  for (int n = 0; n < 10; ++n) study.TellCost(study.Ask(1, n)[0], n + 1);
  study.Ask(1, 20);
  StudyJournal journal = study.journal();
  journal.told[6].evaluation.configuration = {1, 1};
  EXPECT_THAT(ErrorMessage(Study::Resume(NewSearch(), std::nullopt, journal)),
              HasSubstr("of which trial 7 is the first, a=1, b=1"));
  journal = study.journal();
  EXPECT_EQ(Study::Resume(NewSearch(4, "random"), std::nullopt, journal).status().code(),
            absl::StatusCode::kFailedPrecondition);
  journal.told.erase(journal.told.begin() + 2);
  EXPECT_EQ(ErrorMessage(Study::Resume(NewSearch(), std::nullopt, journal)),
            "trial 3 is missing in the journal of the study");
}

TEST(ActiveTimeTest, IsTheLengthOfTheUnion) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    ActiveTime time;
    std::vector<bool> is_active(200);
    int64_t now = 0;
    while (true) {
      now += static_cast<int64_t>(random() % 12);
      if (now >= 200) break;
      const int64_t begin = std::max<int64_t>(0, now - static_cast<int64_t>(random() % 30));
      time.Add(begin, now);
      std::fill(is_active.begin() + begin, is_active.begin() + now, true);
      if (random() % 2 == 0) time.ForgetBefore(now - 30);
    }
    EXPECT_EQ(time.total_ns(), std::count(is_active.begin(), is_active.end(), true));
  }
}

}  // namespace
}  // namespace mdh::study_test
