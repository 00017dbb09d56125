// The column DEVICE of the tables of jobs, trials and records.
#include "client/commands/format/job_format.h"
#include "client/commands/format/record_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::device_columns_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kFingerprint = "cuda 'NVIDIA H100'; 132 multiprocessors";

v1::TuningJob Job(const std::vector<std::string>& devices,
                  const std::vector<std::string>& running = {}) {
  v1::TuningJob job;
  job.set_name("tuningJobs/7");
  job.set_state(v1::TUNING_JOB_STATE_QUEUED);
  job.set_expression_name("matmul");
  job.mutable_create_time()->set_seconds(1'795'000'000);
  for (const std::string& name : devices) job.add_devices(name);
  for (const std::string& name : running) job.add_running_devices(name);
  return job;
}

// What a row has under the heading DEVICE.
std::string DeviceCell(const std::vector<TextColumn>& table, const std::vector<std::string>& row) {
  EXPECT_EQ(table.size(), row.size());
  for (size_t n = 0; n < table.size(); ++n) {
    if (table[n].heading == "DEVICE") return row[n];
  }
  return "there is none";
}

std::string CellOfJob(const v1::TuningJob& job) { return DeviceCell(JobTable(), JobRow(job)); }

TEST(DeviceColumns, AJobHasTheDevicesThatItMayRunOnUntilItRunsOnSome) {
  EXPECT_EQ(CellOfJob(Job({"devices/cpu"})), "cpu");
  EXPECT_EQ(CellOfJob(Job({"devices/cuda0", "devices/cuda1"})), "cuda0,cuda1");
  EXPECT_EQ(CellOfJob(Job({"devices/cuda0", "devices/cuda1"}, {"devices/cuda1"})), "cuda1");
  EXPECT_EQ(CellOfJob(Job({})), "");
}

TEST(DeviceColumns, DevicesOfOtherDaemonsHaveTheNameOfTheirs) {
  EXPECT_EQ(CellOfJob(Job({"nodes/w1/devices/cuda0"})), "w1:cuda0");
  EXPECT_EQ(CellOfJob(Job({"devices/cpu"}, {"nodes/w1/devices/cpu", "nodes/w2/devices/cpu"})),
            "w1:cpu,w2:cpu");
}

TEST(DeviceColumns, AFingerprintIsShownByItsModel) {
  EXPECT_EQ(CellOfJob(Job({kFingerprint})), "cuda 'NVIDIA H100'");
}

TEST(DeviceColumns, OfJobsItIsShortenedAndThenLeftOut) {
  const std::vector<std::vector<std::string>> rows = {
      JobRow(Job({"nodes/a-machine-with-a-long-name/devices/cuda0"}))};
  const auto wide = LayOutTable(JobTable(), rows, 200);
  EXPECT_THAT(wide[1], HasSubstr("a-machine-with-a-long-name:cuda0"));
  const auto shorter = LayOutTable(JobTable(), rows, 80);
  EXPECT_THAT(shorter[0], HasSubstr("DEVICE"));
  EXPECT_THAT(shorter[1], Not(HasSubstr("a-machine-with-a-long-name:cuda0")));
  EXPECT_THAT(shorter, Each(SizeIs(testing::Le(80))));
  const auto narrow = LayOutTable(JobTable(), rows, 30);
  EXPECT_THAT(narrow[0], Not(HasSubstr("DEVICE")));
  EXPECT_THAT(narrow[0], HasSubstr("EXPRESSION"));
}

TEST(DeviceColumns, TrialsHaveOneIfDevicesOfOthersMeasuredSome) {
  v1::ListTuningTrialsResponse response;
  v1::TuningTrial& own = *response.add_trials();
  own.set_number(1);
  own.set_outcome("valid");
  own.set_time_ns(1'500);
  own.set_device("devices/cpu");
  EXPECT_EQ(ShownDevices(response), TrialDevices::kHidden);
  EXPECT_THAT(TrialTable(TrialDevices::kHidden), SizeIs(5));
  EXPECT_THAT(TrialRow(own, TrialDevices::kHidden), ElementsAre("1", "valid", "1.50 us", "", ""));
  v1::TuningTrial& helped = *response.add_trials();
  helped.set_number(2);
  helped.set_device("nodes/w1/devices/cpu");
  helped.set_reason("too slow\nby far");
  EXPECT_EQ(ShownDevices(response), TrialDevices::kShown);
  const std::vector<TextColumn> table = TrialTable(TrialDevices::kShown);
  EXPECT_EQ(DeviceCell(table, TrialRow(own, TrialDevices::kShown)), "cpu");
  EXPECT_THAT(TrialRow(helped, TrialDevices::kShown),
              ElementsAre("2", "not ended", "-", "w1:cpu", "", "too slow"));
  // Of trials of an earlier version nobody knows.
  EXPECT_EQ(DeviceCell(table, TrialRow(v1::TuningTrial(), TrialDevices::kShown)), "-");
}

TEST(DeviceColumns, ARecordHasTheModelOfItsDevice) {
  v1::TuningRecord record;
  record.set_name("records/a");
  record.set_time_ns(1'500);
  record.set_expression_name("matmul");
  record.mutable_device()->set_model("NVIDIA H100 80GB HBM3");
  EXPECT_EQ(DeviceCell(RecordTable(), RecordRow(record)), "NVIDIA H100 80GB HBM3");
  EXPECT_THAT(RecordRow(record),
              ElementsAre("records/a", "1.50 us", "-", "", "NVIDIA H100 80GB HBM3", "matmul"));
  record.set_is_disturbed(true);
  record.mutable_certificate()->set_problem_bound_ns(750);
  EXPECT_THAT(RecordRow(record), ElementsAre("records/a", "1.50 us", "50 %", "disturbed",
                                             "NVIDIA H100 80GB HBM3", "matmul"));
  const auto narrow = LayOutTable(RecordTable(), {RecordRow(record)}, 32);
  EXPECT_THAT(narrow[0], Not(HasSubstr("DEVICE")));
  EXPECT_THAT(narrow[1], EndsWith("matmul"));
}

}  // namespace
}  // namespace mdh::device_columns_test
