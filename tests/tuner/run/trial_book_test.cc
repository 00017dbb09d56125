// Which of the best trials comes first at the end.
#include "tuner/run/trial_book.h"

#include <string>

#include "gtest/gtest.h"

namespace mdh::trial_book_test {
namespace {

class TrialBookTest : public ::testing::Test {
 protected:
  void Record(const std::string& source, int64_t time_ns, bool is_disturbed) {
    Candidate candidate;
    candidate.kernel.source = source;
    candidate.measurement.times_ns = {time_ns};
    candidate.measurement.is_disturbed = is_disturbed;
    book_.Record(candidate, 0);
  }
  std::string BestAfterPreferring(const std::string& source) {
    Kernel kernel;
    kernel.source = source;
    book_.PreferIfUnsettled(IdentityOf(kernel));
    return book_.best().front().kernel.source;
  }

  TrialBook book_{3};
};

TEST_F(TrialBookTest, OfUnsettledTimesThePreferredOneIsTakenIfItIsNear) {
  Record("fast", 1000, /*is_disturbed=*/true);
  Record("rules", 1980, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules"), "rules");
  EXPECT_EQ(book_.best().size(), 2u);
}

TEST_F(TrialBookTest, WhatIsClearlyFasterStays) {
  Record("fast", 1000, /*is_disturbed=*/true);
  Record("rules", 2020, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules"), "fast");
  EXPECT_EQ(BestAfterPreferring("unknown"), "fast");
}

TEST_F(TrialBookTest, WhatIsSettledStays) {
  Record("fast", 1000, /*is_disturbed=*/false);
  Record("rules", 1010, /*is_disturbed=*/true);
  EXPECT_EQ(BestAfterPreferring("rules"), "fast");
}

// Others only lengthen times.
TEST_F(TrialBookTest, WhatIsFasterThanASettledTimeStays) {
  Record("fast", 1000, /*is_disturbed=*/true);
  Record("rules", 1010, /*is_disturbed=*/false);
  EXPECT_EQ(BestAfterPreferring("rules"), "fast");
}

TEST_F(TrialBookTest, NothingIsPreferredWhereNothingWasMeasured) {
  book_.PreferIfUnsettled("rules");
  EXPECT_TRUE(book_.best().empty());
}

}  // namespace
}  // namespace mdh::trial_book_test
