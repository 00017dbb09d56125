// Which of the best trials comes first at the end.
#include "tuner/run/trial_history.h"

#include <string>

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
  std::string BestAfterPreferring(const std::string& source) {
    Kernel kernel;
    kernel.source = source;
    history_.PreferIfUnsettled(IdentityOf(kernel));
    return history_.best().front().kernel.source;
  }

  TrialHistory history_{3};
};

TEST_F(TrialHistoryTest, OfUnsettledTimesThePreferredOneIsTakenIfItIsNear) {
  Record("fast", 1000, /*is_disturbed=*/true);
  Record("rules", 1980, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules"), "rules");
  EXPECT_EQ(history_.best().size(), 2u);
}

TEST_F(TrialHistoryTest, WhatIsClearlyFasterStays) {
  Record("fast", 1000, /*is_disturbed=*/true);
  Record("rules", 2020, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules"), "fast");
  EXPECT_EQ(BestAfterPreferring("unknown"), "fast");
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
  history_.PreferIfUnsettled("rules");
  EXPECT_TRUE(history_.best().empty());
}

}  // namespace
}  // namespace mdh::trial_history_test
