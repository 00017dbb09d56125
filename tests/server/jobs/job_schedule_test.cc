#include "server/jobs/job_schedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/fake_devices.h"

namespace mdh::job_schedule_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class JobScheduleTest : public ::testing::Test {
 protected:
  JobScheduleTest() {
    for (const char* name : {"devices/a", "devices/b", "devices/c"}) fakes_.Add(name, FakeGpu());
    devices_ = fakes_.Take();
  }
  TuningDevice* device(size_t n) const { return devices_[n].get(); }

  FakeDevices fakes_;
  std::vector<std::unique_ptr<TuningDevice>> devices_;
};

TEST_F(JobScheduleTest, NothingBeginsWithoutJobsOrDevices) {
  const std::vector<WaitingJob> one = {{1, "s", {device(0)}}};
  EXPECT_FALSE(NextAssignment({}, {}, {device(0)}).has_value());
  EXPECT_FALSE(NextAssignment(one, {}, {}).has_value());
  EXPECT_FALSE(NextAssignment(one, {}, {device(1)}).has_value());
  EXPECT_THAT(Turns().Order({}), IsEmpty());
}

TEST_F(JobScheduleTest, AJobAloneGetsAllFreeDevicesThatItMayUse) {
  const std::vector<WaitingJob> one = {{1, "s", {device(0), device(2)}}};
  const auto next = NextAssignment(one, {}, {device(0), device(1), device(2)});
  ASSERT_TRUE(next.has_value());
  EXPECT_THAT(next->devices, ElementsAre(device(0), device(2)));
}

TEST_F(JobScheduleTest, JobsThatWaitTogetherShare) {
  const std::vector<WaitingJob> two = {{1, "s", {device(0), device(1), device(2)}},
                                       {2, "s", {device(0)}}};
  const auto next = NextAssignment(two, {}, {device(0), device(1), device(2)});
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->job, 0u);
  // Three for two: one; not the one that the other needs.
  EXPECT_THAT(next->devices, SizeIs(1));
  EXPECT_NE(next->devices.front(), device(0));
}

TEST_F(JobScheduleTest, AJobWhoseDevicesAreBusyIsPassed) {
  const std::vector<WaitingJob> two = {{1, "s", {device(0)}}, {2, "s", {device(1)}}};
  const auto next = NextAssignment(two, {}, {device(1)});
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->job, 1u);
}

TEST_F(JobScheduleTest, ASourceThatHadItsTurnWaitsForTheOthers) {
  const std::vector<WaitingJob> jobs = {
      {1, "a", {}}, {2, "a", {}}, {3, "b", {}}, {4, "a", {}}, {5, "c", {}}};
  Turns turns;
  EXPECT_THAT(turns.Order(jobs), ElementsAre(0, 2, 4, 1, 3));
  turns.Take("a");
  EXPECT_THAT(turns.Order(jobs), ElementsAre(2, 4, 0, 1, 3));
  turns.Take("b");
  EXPECT_THAT(turns.Order(jobs), ElementsAre(4, 0, 2, 1, 3));
}

TEST_F(JobScheduleTest, PrioritiesOrderTheJobsOfOneSourceOnly) {
  const std::vector<WaitingJob> jobs = {
      {1, "a", {}, 0}, {2, "a", {}, 5}, {3, "b", {}, -5}, {4, "a", {}, 5}, {5, "b", {}, 10}};
  // The oldest of the next jobs of each source: 2 of "a" and 5 of "b".
  EXPECT_THAT(Turns().Order(jobs), ElementsAre(1, 4, 3, 2, 0));
}

TEST_F(JobScheduleTest, OldSourcesAreForgotten) {
  Turns turns;
  turns.Take("a");
  for (int n = 0; n < 2000; ++n) turns.Take(std::to_string(n));
  const std::vector<WaitingJob> jobs = {{1, "1999", {}}, {2, "a", {}}};
  EXPECT_THAT(turns.Order(jobs), ElementsAre(1, 0));
}

}  // namespace
}  // namespace mdh::job_schedule_test
