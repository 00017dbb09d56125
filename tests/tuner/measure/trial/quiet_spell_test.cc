#include "tuner/measure/trial/quiet_spell.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/process/child_process.h"
#include "tuner/process/socket_pair.h"

namespace mdh::quiet_spell_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class QuietSpellTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { PrepareToSupervise(); }

  // Hears all of a child that does `body`, until it has ended.
  void Run(const std::function<int()>& body) {
    SocketPair sockets = *SocketPair::Make();
    ChildLimits limits;
    limits.socket = sockets.theirs.get();
    Result<ChildProcess> child = ChildProcess::Fork(limits, body);
    ASSERT_TRUE(child.ok()) << child.status();
    sockets.theirs.Close();
    QuietSpell spell(std::move(sockets.ours), other_work_);
    while (!(end_ = child->Poll())) {
      spell.Hear();
      supervisor_.WaitFor(spell.sockets(), 10'000'000);
    }
  }
  int exit_code() const { return end_->signal == 0 ? end_->exit_code : -1; }

  std::string events_;
  const OtherWork other_work_ = {
      .pause = [this] { events_ += "pause "; },
      .resume = [this] { events_ += "resume "; },
  };
  PatientSupervisor supervisor_;
  std::optional<ChildEnd> end_;
};

void Say(const std::string& bytes) { send(kChildSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

TEST_F(QuietSpellTest, OtherWorkStandsStillBetweenReadyAndTheLastCall) {
  Run([] {
    if (!AwaitQuiet()) return 1;
    EndQuiet();
    return 7;
  });
  EXPECT_EQ(exit_code(), 7);
  EXPECT_EQ(events_, "pause resume ");
}

TEST_F(QuietSpellTest, OtherWorkGoesOnAfterAChildThatDies) {
  Run([] {
    AwaitQuiet();
    abort();
    return 0;
  });
  EXPECT_EQ(events_, "pause resume ");
}

TEST_F(QuietSpellTest, AChildThatIsNeverReadyStopsNothing) {
  Run([] { return 3; });
  EXPECT_EQ(exit_code(), 3);
  EXPECT_EQ(events_, "");
}

TEST_F(QuietSpellTest, AfterTheEndNothingIsHeardAnyMore) {
  Run([] {
    AwaitQuiet();
    EndQuiet();
    for (int n = 0; n < 100; ++n) Say("rcrc");
    return 0;
  });
  EXPECT_EQ(events_, "pause resume ");
}

TEST_F(QuietSpellTest, WhatNoChildWouldSayEndsTheSpell) {
  Run([] {
    Say("xr");
    return 0;
  });
  EXPECT_EQ(events_, "");
  events_.clear();
  Run([] {
    AwaitQuiet();
    Say("r");
    return 0;
  });
  EXPECT_EQ(events_, "pause resume ");
}

TEST_F(QuietSpellTest, AChildThatIsNotUnderstoodWaitsForNoAnswer) {
  Run([] {
    Say("x");
    return AwaitQuiet() ? 1 : 6;
  });
  EXPECT_EQ(exit_code(), 6);
  EXPECT_EQ(events_, "");
}

TEST_F(QuietSpellTest, ItEndsWithItsOwner) {
  SocketPair sockets = *SocketPair::Make();
  {
    QuietSpell spell(std::move(sockets.ours), other_work_);
    EXPECT_THAT(spell.sockets(), SizeIs(1));
    spell.Hear();
    EXPECT_EQ(events_, "");
    ASSERT_EQ(send(sockets.theirs.get(), "r", 1, 0), 1);
    spell.Hear();
    EXPECT_EQ(events_, "pause ");
  }
  EXPECT_EQ(events_, "pause resume ");
}

TEST_F(QuietSpellTest, AChildThatClosesItsSocketKeepsNobodyBusy) {
  SocketPair sockets = *SocketPair::Make();
  QuietSpell spell(std::move(sockets.ours), other_work_);
  sockets.theirs.Close();
  spell.Hear();
  EXPECT_THAT(spell.sockets(), IsEmpty());
}

TEST_F(QuietSpellTest, AChildDoesNotWaitForAParentThatIsGone) {
  SocketPair sockets = *SocketPair::Make();
  ChildLimits limits;
  limits.socket = sockets.theirs.get();
  sockets.ours.Close();
  Result<ChildProcess> child = ChildProcess::Fork(limits, [] { return AwaitQuiet() ? 1 : 5; });
  ASSERT_TRUE(child.ok()) << child.status();
  sockets.theirs.Close();
  while (!(end_ = child->Poll())) supervisor_.Wait(10'000'000);
  EXPECT_EQ(exit_code(), 5);
}

}  // namespace
}  // namespace mdh::quiet_spell_test
