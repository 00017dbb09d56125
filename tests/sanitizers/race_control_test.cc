// That the thread sanitizer still sees races beside absl_mutex.cc: each kind of race is run in a
// process of its own, which must be reported. What is guarded as it should be must not be.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "core/device/system_model.h"

namespace mdh::race_control_test {
namespace {

// Sources that are not compiled for the sanitizer make tables when they are first used, whose
// guards it does not see. This one, of which others copy, is made before there are threads.
const bool kHasModels = FindSystemModel("OpenMP") != nullptr;

constexpr int kReported = 66;  // the exit status of a process with a report
constexpr char kReport[] = "ThreadSanitizer: data race";

// Two threads, the second of which begins when the first has done its part. That they follow each
// other orders nothing for the sanitizer: a race is one however it ends.
template <typename First, typename Second>
[[noreturn]] void RunOneAfterTheOther(First first, Second second) {
  std::atomic<bool> is_done = false;
  std::thread one([&] {
    first();
    is_done.store(true, std::memory_order_relaxed);
  });
  std::thread other([&] {
    while (!is_done.load(std::memory_order_relaxed)) std::this_thread::yield();
    second();
  });
  one.join();
  other.join();
  std::exit(0);
}

struct Shared {
  absl::Mutex mutex;
  absl::Mutex another_mutex;
  absl::CondVar changed;
  int value = 0;
};

class RaceControlDeathTest : public ::testing::Test {
 protected:
  RaceControlDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RaceControlDeathTest, OneMutexGuards) {
  Shared shared;
  const auto add = [&] {
    absl::MutexLock lock(&shared.mutex);
    ++shared.value;
  };
  EXPECT_EXIT(RunOneAfterTheOther(add, add), ::testing::ExitedWithCode(0), "");
}

TEST_F(RaceControlDeathTest, ReadersAreGuardedFromAWriter) {
  Shared shared;
  const auto write = [&] {
    absl::MutexLock lock(&shared.mutex);
    ++shared.value;
  };
  const auto read = [&] {
    absl::ReaderMutexLock lock(&shared.mutex);
    if (shared.value != 1) std::abort();
  };
  EXPECT_EXIT(RunOneAfterTheOther(write, read), ::testing::ExitedWithCode(0), "");
}

TEST_F(RaceControlDeathTest, WhoWaitsForAChangeSeesIt) {
  Shared shared;
  const auto change = [&] {
    absl::MutexLock lock(&shared.mutex);
    ++shared.value;
    shared.changed.SignalAll();
  };
  const auto await = [&] {
    absl::MutexLock lock(&shared.mutex);
    while (shared.value == 0) shared.changed.Wait(&shared.mutex);
    ++shared.value;
    const auto is_two = [&] { return shared.value == 2; };
    shared.mutex.Await(absl::Condition(&is_two));
    ++shared.value;
  };
  EXPECT_EXIT(RunOneAfterTheOther(change, await), ::testing::ExitedWithCode(0), "");
}

TEST_F(RaceControlDeathTest, NoMutexIsReported) {
  Shared shared;
  const auto add = [&] { ++shared.value; };
  EXPECT_EXIT(RunOneAfterTheOther(add, add), ::testing::ExitedWithCode(kReported), kReport);
}

TEST_F(RaceControlDeathTest, AMutexOnOneSideIsReported) {
  Shared shared;
  const auto guarded = [&] {
    absl::MutexLock lock(&shared.mutex);
    ++shared.value;
  };
  const auto unguarded = [&] { ++shared.value; };
  EXPECT_EXIT(RunOneAfterTheOther(guarded, unguarded), ::testing::ExitedWithCode(kReported),
              kReport);
}

TEST_F(RaceControlDeathTest, TwoMutexesAreReported) {
  Shared shared;
  const auto one = [&] {
    absl::MutexLock lock(&shared.mutex);
    ++shared.value;
  };
  const auto other = [&] {
    absl::MutexLock lock(&shared.another_mutex);
    ++shared.value;
  };
  EXPECT_EXIT(RunOneAfterTheOther(one, other), ::testing::ExitedWithCode(kReported), kReport);
}

TEST_F(RaceControlDeathTest, WritingAsAReaderIsReported) {
  Shared shared;
  const auto write = [&] {
    absl::ReaderMutexLock lock(&shared.mutex);
    ++shared.value;
  };
  EXPECT_EXIT(RunOneAfterTheOther(write, write), ::testing::ExitedWithCode(kReported), kReport);
}

TEST_F(RaceControlDeathTest, WhatComesAfterUnlockingIsReported) {
  Shared shared;
  const auto late = [&] {
    { absl::MutexLock lock(&shared.mutex); }
    ++shared.value;
  };
  const auto guarded = [&] {
    absl::MutexLock lock(&shared.mutex);
    ++shared.value;
  };
  EXPECT_EXIT(RunOneAfterTheOther(late, guarded), ::testing::ExitedWithCode(kReported), kReport);
}

}  // namespace
}  // namespace mdh::race_control_test
