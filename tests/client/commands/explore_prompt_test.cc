// The prompt of `mdh explore`, with a candidate of two parameters instead of a daemon.
#include "client/commands/explore_prompt.h"

#include <sstream>
#include <string>

#include "client/commands/call/restriction_arguments.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::explore_prompt_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What is asked, as text: "a=1,2 b!=3".
std::string TextOf(const v1::Candidate& candidate) {
  std::string text;
  for (const v1::Restriction& restriction : candidate.restrictions()) {
    text += (text.empty() ? "" : " ") + restriction.parameter() +
            (restriction.is_forbidden() ? "!=" : "=");
    for (int n = 0; n < restriction.values_size(); ++n) {
      text += (n == 0 ? "" : ",") + restriction.values(n);
    }
  }
  return text;
}

class FakeDaemon {
 public:
  // Runs a prompt with these commands, and gives what it prints.
  std::string Run(const std::string& commands) {
    const ExploreCalls calls = {
        .describe = [this](const v1::Candidate& candidate) { return Describe(candidate); },
        .compare = [this](const v1::Candidate& candidate, const v1::BoundComparison& comparison)
            -> Result<v1::DescribeCandidateResponse> {
          asked_.push_back("compare " + std::to_string(comparison.time_ns()));
          MDH_ASSIGN_OR_RETURN(v1::DescribeCandidateResponse described, Describe(candidate));
          v1::BoundHistogram& bounds = *described.mutable_bounds();
          bounds.set_time_ns(2e6);
          bounds.set_configurations(40);
          bounds.set_is_exact(is_exact);
          bounds.set_left(30);
          bounds.set_left_share_low(is_exact ? 0.75 : 0.6);
          bounds.set_left_share_high(is_exact ? 0.75 : 0.9);
          for (const int count : {0, 0, 5, 5, 20, 10}) bounds.add_counts(count);
          return described;
        },
        .finish = [this](const v1::Candidate& candidate, v1::FinishRule by,
                         uint64_t seed) -> Result<v1::FinishCandidateResponse> {
          asked_.push_back("finish " + std::to_string(by) + " " + std::to_string(seed) + " " +
                           TextOf(candidate));
          v1::FinishCandidateResponse finished;
          finished.set_parameters("tile=1");
          finished.set_schedule("L1: tile i=1\n");
          finished.set_made_from("records/1");
          return finished;
        },
        .search =
            [this](const v1::Candidate& candidate, const std::string& budget) {
              asked_.push_back("search " + budget + " " + TextOf(candidate));
              return absl::OkStatus();
            }};
    std::istringstream input(commands);
    ::testing::internal::CaptureStdout();
    status_ = RunExplorePrompt(calls, {}, input, /*is_echoed=*/false);
    return ::testing::internal::GetCapturedStdout();
  }

  Result<v1::DescribeCandidateResponse> Describe(const v1::Candidate& candidate) {
    asked_.push_back(TextOf(candidate));
    if (TextOf(candidate).find("gone") != std::string::npos) {
      return absl::UnavailableError("the daemon is away");
    }
    if (TextOf(candidate).find("never") != std::string::npos) {
      return absl::FailedPreconditionError("no configuration remains");
    }
    v1::DescribeCandidateResponse described;
    described.set_count(is_lazy ? "" : "12345678901");
    described.set_space_count(is_lazy ? "" : "20");
    described.set_schedule("L2: parts k=4\n");
    described.set_bound_ns(2'500);
    described.set_binding_floor("the busiest core: whole parts");
    described.set_bound_assumption("no core is clocked above 4 GHz");
    v1::CandidateDecision* const decision = described.add_decisions();
    decision->set_parameter("parts_L2_k");
    decision->set_meaning("into how many parts layer L2 cuts dimension k");
    decision->set_schedule("L2: parts k");
    for (int value = 1; value <= 12; ++value) {
      v1::RemainingValue* const remaining = decision->add_remaining();
      remaining->set_value(std::to_string(value));
      remaining->set_count(is_lazy ? "" : "5");
      remaining->set_bound_ns(value == 12 ? 8'500 : 0);
    }
    decision->set_remaining_values(14);
    return described;
  }

  bool is_lazy = false;
  bool is_exact = false;
  std::vector<std::string> asked_;
  Status status_;
};

TEST(ExplorePromptTest, TakesAndUndoesDecisions) {
  FakeDaemon daemon;
  const std::string out = daemon.Run(
      "take a=1,2 b=3\nforbid a=4\nundo\nundo a\n\nundo c\nundo b\nundo\nquit\ntake a=1\n");
  EXPECT_THAT(daemon.asked_,
              ElementsAre("", "a=1,2 b=3", "a=1,2 b=3 a!=4", "a=1,2 b=3", "b=3", ""));
  EXPECT_THAT(out, HasSubstr("1.2e10 configurations remain"));
  EXPECT_THAT(out, HasSubstr("nothing was decided of 'c'"));
  EXPECT_THAT(out, HasSubstr("nothing was decided\n"));
  EXPECT_TRUE(daemon.status_.ok());
}

TEST(ExplorePromptTest, ComparesBounds) {
  FakeDaemon daemon;
  const std::string drawn = daemon.Run("bounds\nbounds 1.5ms\nbounds soon\n");
  EXPECT_THAT(daemon.asked_, ElementsAre("", "compare 0.000000", "", "compare 1500000.000000", ""));
  EXPECT_THAT(drawn, HasSubstr("compared with 2.00 ms, a sample of 40 configurations"));
  EXPECT_THAT(drawn, HasSubstr("not shown to take longer: 60 % to 90 %, with 95 % confidence\n"));
  EXPECT_THAT(drawn, HasSubstr("1/2 to 1"));
  EXPECT_THAT(drawn, HasSubstr("'soon'"));
  daemon.is_exact = true;
  const std::string all = daemon.Run("bounds record\n");
  EXPECT_THAT(all, HasSubstr("all 40 configurations"));
  EXPECT_THAT(all, HasSubstr("not shown to take longer: 75 %\n"));
}

TEST(ExplorePromptTest, KeepsWhatItHadWhenNothingWouldRemain) {
  FakeDaemon daemon;
  const std::string out = daemon.Run("take a=never\ntake a=1\n");
  EXPECT_THAT(daemon.asked_, ElementsAre("", "a=never", "a=1"));
  EXPECT_THAT(out, HasSubstr("no configuration remains\n"));
}

TEST(ExplorePromptTest, EndsWithTheConnection) {
  FakeDaemon daemon;
  daemon.Run("take a=gone\ntake a=1\n");
  EXPECT_EQ(daemon.status_.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(daemon.asked_, ElementsAre("", "a=gone"));
}

TEST(ExplorePromptTest, ExplainsParametersAndValues) {
  FakeDaemon daemon;
  const std::string out = daemon.Run("why parts_L2_k\nwhy parts_L2_k=2\nwhy a=never\nwhy b\n");
  EXPECT_THAT(out, HasSubstr("parts_L2_k: into how many parts layer L2 cuts dimension k\n"));
  EXPECT_THAT(out, HasSubstr("in schedules: L2: parts k\n"));
  EXPECT_THAT(out, HasSubstr("and 2 more\n"));
  EXPECT_THAT(out, HasSubstr("AT LEAST"));
  EXPECT_THAT(out, HasSubstr("8.50 us"));
  EXPECT_THAT(out, HasSubstr("none of them takes less than 2.50 us (the busiest core: whole parts; "
                             "assumed: no core is clocked above 4 GHz)\n"));
  EXPECT_THAT(out, HasSubstr("1.2e10 configurations have it\n"));
  EXPECT_THAT(out, HasSubstr("no parameter is named 'b'; show lists them\n"));
  // What was asked about was not decided.
  EXPECT_THAT(daemon.asked_, ElementsAre("", "", "parts_L2_k=2", "a=never", ""));
}

TEST(ExplorePromptTest, FinishesInAllWays) {
  FakeDaemon daemon;
  const std::string out = daemon.Run(
      "take a=1\nsample 7\nfinish rules\nfinish record\nfinish sample 3\nfinish search 20s\n"
      "finish soon\nsample x\n");
  EXPECT_THAT(daemon.asked_, ElementsAre("", "a=1", "finish 3 7 a=1", "finish 1 1 a=1",
                                         "finish 2 1 a=1", "finish 3 3 a=1", "search 20s a=1"));
  EXPECT_THAT(out, HasSubstr("# near to records/1\nL1: tile i=1\n"));
  EXPECT_THAT(out, HasSubstr("'soon' is no way to finish"));
  EXPECT_THAT(out, HasSubstr("'x' is no seed"));
}

TEST(ExplorePromptTest, SaysWhatCommandsThereAre) {
  FakeDaemon daemon;
  const std::string out = daemon.Run("dance\nhelp\ntake\ntake a\nschedule\n");
  EXPECT_THAT(out, HasSubstr("there is no command 'dance'; there are take, forbid"));
  EXPECT_THAT(out, HasSubstr("finish search BUDGET"));
  EXPECT_THAT(out, HasSubstr("take needs PARAMETER=VALUE"));
  EXPECT_THAT(out, HasSubstr("'a' is no decision; write PARAMETER=VALUE"));
  EXPECT_THAT(out, HasSubstr("> L2: parts k=4\n"));
}

TEST(ExplorePromptTest, ShowsWhatIsPossibleWhereNothingIsCounted) {
  FakeDaemon daemon;
  daemon.is_lazy = true;
  const std::string out = daemon.Run("why parts_L2_k\ntake a=1\n");
  EXPECT_THAT(out, HasSubstr("too large to be counted: values are possible"));
  EXPECT_THAT(out, HasSubstr("possible"));
  EXPECT_THAT(out, HasSubstr("an unknown number of configurations remain"));
  EXPECT_THAT(out, HasSubstr("1, 2, 3, 4, 5, 6, 7, .., 12"));
}

TEST(RestrictionArgumentsTest, AreParameterAndValues) {
  const Result<v1::Restriction> restriction = ParseRestriction("parts_L2_k=4,8", true);
  ASSERT_TRUE(restriction.ok());
  EXPECT_EQ(restriction->parameter(), "parts_L2_k");
  EXPECT_THAT(restriction->values(), ElementsAre("4", "8"));
  EXPECT_TRUE(restriction->is_forbidden());
  for (const char* wrong : {"", "a", "=1", "a="}) {
    EXPECT_FALSE(ParseRestriction(wrong, false).ok()) << wrong;
  }
}

}  // namespace
}  // namespace mdh::explore_prompt_test
