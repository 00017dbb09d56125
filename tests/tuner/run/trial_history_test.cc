// Which of the best trials comes first at the end.
#include "tuner/run/trial_history.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mdh::trial_history_test {
namespace {

class TrialHistoryTest : public ::testing::Test {
 protected:
  void Record(const std::string& source, int64_t time_ns, bool is_disturbed) {
    Candidate candidate;
    candidate.kernel.source = source;
    candidate.measurement.times_ns = {time_ns};
    candidate.measurement.is_disturbed = is_disturbed;
    history_.Record(candidate, 0);
  }
  // `faster`: what is known to be faster than it.
  std::string BestAfterPreferring(const std::string& source,
                                  const std::vector<std::string>& faster = {}) {
    const auto identity = [](const std::string& of) {
      Kernel kernel;
      kernel.source = of;
      return IdentityOf(kernel);
    };
    std::set<std::string> identities;
    for (const std::string& one : faster) identities.insert(identity(one));
    history_.PreferIfUnsettled(identity(source), identities);
    return history_.best().front().kernel.source;
  }

  TrialHistory history_{3};
};

TEST_F(TrialHistoryTest, OfUnsettledTimesThePreferredOneIsTaken) {
  Record("fast", 1000, /*is_disturbed=*/true);
  Record("rules", 4000, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules"), "rules");
  EXPECT_EQ(BestAfterPreferring("unknown"), "rules");
  EXPECT_EQ(history_.best().size(), 2u);
}

TEST_F(TrialHistoryTest, UnlessOneIsKnownToBeFaster) {
  Record("lucky", 1000, /*is_disturbed=*/true);
  Record("fast", 1010, /*is_disturbed=*/true);
  Record("rules", 1100, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules", {"fast"}), "fast");
  EXPECT_EQ(BestAfterPreferring("rules", {"lucky", "fast"}), "fast");  // it comes first already
}

TEST_F(TrialHistoryTest, WhatWasFasterInTurnsButHasTheLongerTimeIsNotTaken) {
  Record("rules", 1000, /*is_disturbed=*/true);
  Record("fast", 1100, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules", {"fast"}), "rules");
}

TEST_F(TrialHistoryTest, WhatIsSettledStays) {
  Record("fast", 1000, /*is_disturbed=*/false);
  Record("rules", 1010, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules"), "fast");
}

// Others only lengthen times.
TEST_F(TrialHistoryTest, WhatIsFasterThanASettledTimeStays) {
  Record("fast", 1000, /*is_disturbed=*/true);
  Record("rules", 1010, /*is_disturbed=*/false);
  EXPECT_EQ(BestAfterPreferring("rules"), "fast");
}

TEST_F(TrialHistoryTest, NothingIsPreferredWhereNothingWasMeasured) {
  history_.PreferIfUnsettled("rules", {});
  EXPECT_TRUE(history_.best().empty());
}

}  // namespace
}  // namespace mdh::trial_history_test
