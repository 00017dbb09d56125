#include "tuner/process/process_state.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "gtest/gtest.h"

namespace mdh::process_state_test {
namespace {

TEST(ProcessStateTest, OfThisProcess) {
  const auto state = ReadProcessState(getpid());
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->pid, getpid());
  EXPECT_EQ(state->parent, getppid());
  EXPECT_EQ(state->session, getsid(0));
  EXPECT_FALSE(state->has_ended);
}

TEST(ProcessStateTest, NamesMayLookLikeFields) {
  char name[16];
  prctl(PR_GET_NAME, name);
  prctl(PR_SET_NAME, "a) Z 1 (1");
  const auto state = ReadProcessState(getpid());
  prctl(PR_SET_NAME, name);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->parent, getppid());
  EXPECT_FALSE(state->has_ended);
}

TEST(ProcessStateTest, AChildThatIsNotWaitedForHasEnded) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto state = ReadProcessState(child);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->parent, getpid());
  EXPECT_TRUE(state->has_ended);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(ReadProcessState(child).has_value());
}

TEST(ProcessStateTest, AllAreReadWhileSomeEnd) {
  for (int n = 0; n < 200; ++n) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    const auto states = ReadProcessStates();
    EXPECT_TRUE(std::any_of(states.begin(), states.end(),
                            [](const ProcessState& state) { return state.pid == getpid(); }));
    waitpid(child, nullptr, 0);
  }
}

}  // namespace
}  // namespace mdh::process_state_test
