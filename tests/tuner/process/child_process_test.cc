#include "tuner/process/child_process.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/tuner/processes.h"
#include "tuner/process/clock.h"

namespace mdh::child_process_test {
namespace {

// Shared with children.
template <typename T>
class Shared {
 public:
  Shared()
      : value_(new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                         0)) T()) {}
  ~Shared() { munmap(value_, sizeof(T)); }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

ChildEnd Await(ChildProcess& child) {
  PatientSupervisor supervisor;
  std::optional<ChildEnd> end;
  while (!(end = child.Poll())) supervisor.Wait(50'000'000);
  return *end;
}

class ChildProcessTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { PrepareToSupervise(); }
};

TEST_F(ChildProcessTest, ReportsTheExitCode) {
  ChildProcess child = *ChildProcess::Fork({}, [] { return 7; });
  const ChildEnd end = Await(child);
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(end.signal, 0);
  EXPECT_TRUE(child.Poll().has_value());  // still known after it was reaped
}

TEST_F(ChildProcessTest, ReportsTheSignal) {
  ChildProcess child = *ChildProcess::Fork({}, [] { return raise(SIGFPE); });
  EXPECT_EQ(Await(child).signal, SIGFPE);
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV (segmentation fault)");
  EXPECT_EQ(SignalName(250), "signal 250");
}

TEST_F(ChildProcessTest, WaitEndsWhenAChildEnds) {
  ChildProcess child = *ChildProcess::Fork({}, [] {
    usleep(20'000);
    return 0;
  });
  const int64_t start = NowNs();
  PatientSupervisor().Wait(10'000'000'000);
  EXPECT_LT(NowNs() - start, 5'000'000'000);
  EXPECT_TRUE(Await(child).exit_code == 0);
}

TEST_F(ChildProcessTest, DestructionKillsTheChildAndWhatItStarted) {
  Shared<std::atomic<pid_t>> grandchild;
  {
    const ChildProcess child = *ChildProcess::Fork({}, [&] {
      if (fork() == 0) grandchild->store(getpid());
      while (true) pause();
      return 0;
    });
    while (grandchild->load() == 0) usleep(1000);
  }
  for (int i = 0; i < 1000 && IsAlive(grandchild->load()); ++i) usleep(1000);
  EXPECT_FALSE(IsAlive(grandchild->load()));
}

TEST_F(ChildProcessTest, WhatAChildStartedIsKilledWhenTheChildEndsByItself) {
  Shared<std::atomic<pid_t>> grandchild;
  ChildProcess child = *ChildProcess::Fork({}, [&] {
    if (fork() == 0) {
      grandchild->store(getpid());
      while (true) pause();
    }
    while (grandchild->load() == 0) usleep(1000);
    return 0;
  });
  Await(child);
  for (int i = 0; i < 1000 && IsAlive(grandchild->load()); ++i) usleep(1000);
  EXPECT_FALSE(IsAlive(grandchild->load()));
}

TEST_F(ChildProcessTest, AChildDiesWithItsParent) {
  Shared<std::atomic<pid_t>> grandchild;
  // The child forks by the same means and is then killed.
  ChildProcess child = *ChildProcess::Fork({}, [&] {
    auto inner = ChildProcess::Fork({}, [&] {
      grandchild->store(getpid());
      while (true) pause();
      return 0;
    });
    while (true) pause();
    return 0;
  });
  while (grandchild->load() == 0) usleep(1000);
  child.Kill();
  for (int i = 0; i < 1000 && IsAlive(grandchild->load()); ++i) usleep(1000);
  EXPECT_FALSE(IsAlive(grandchild->load()));
}

TEST_F(ChildProcessTest, LimitsHold) {
  ChildProcess busy = *ChildProcess::Fork({.cpu_s = 1}, [] {
    std::atomic<int> counter = 0;
    while (counter >= 0) counter = 1;
    return 0;
  });
  EXPECT_EQ(Await(busy).signal, SIGXCPU);
  ChildProcess hungry = *ChildProcess::Fork({.address_space_bytes = int64_t{1} << 28}, [] {
    return mmap(nullptr, size_t{1} << 29, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                   MAP_FAILED
               ? 3
               : 0;
  });
  EXPECT_EQ(Await(hungry).exit_code, 3);
}

TEST_F(ChildProcessTest, DescriptorsAreClosedInTheChild) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ChildProcess child = *ChildProcess::Fork({}, [&] { return write(ends[1], "x", 1) == 1 ? 1 : 0; });
  EXPECT_EQ(Await(child).exit_code, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace mdh::child_process_test
