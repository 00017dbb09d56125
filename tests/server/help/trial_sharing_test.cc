#include "server/help/trial_sharing.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::trial_sharing_test {
namespace {

using ::testing::HasSubstr;

TEST(TrialSharing, IsReadFromItsWords) {
  EXPECT_EQ(*ParseTrialSharing("both"), TrialSharing::kBoth);
  EXPECT_EQ(*ParseTrialSharing("ask"), TrialSharing::kAsk);
  EXPECT_EQ(*ParseTrialSharing("help"), TrialSharing::kHelp);
  EXPECT_EQ(*ParseTrialSharing("off"), TrialSharing::kOff);
  EXPECT_THAT(ParseTrialSharing("on").status().message(),
              HasSubstr("'on' is none of both, ask, help and off"));
}

TEST(TrialSharing, SaysWhatIsAskedAndGiven) {
  EXPECT_TRUE(AsksForHelp(TrialSharing::kBoth) && HelpsOthers(TrialSharing::kBoth));
  EXPECT_TRUE(AsksForHelp(TrialSharing::kAsk) && !HelpsOthers(TrialSharing::kAsk));
  EXPECT_TRUE(!AsksForHelp(TrialSharing::kHelp) && HelpsOthers(TrialSharing::kHelp));
  EXPECT_TRUE(!AsksForHelp(TrialSharing::kOff) && !HelpsOthers(TrialSharing::kOff));
}

}  // namespace
}  // namespace mdh::trial_sharing_test
