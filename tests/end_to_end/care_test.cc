// Looking after a daemon at a terminal: jobs that wait, records that are kept, bundles, backups.
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::care_test {
namespace {

using ::testing::HasSubstr;

class CareTest : public DaemonTest {
 protected:
  void SetUp() override {
    StartDaemon({"--devices", "cpu", "--backup-directory", directory_.File("backups")});
  }
};

TEST_F(CareTest, JobsArePausedResumedAndListed) {
  const std::string job = Detached(96, "120s");
  WaitForFirstResult(job);
  EXPECT_EQ(Mdh({"pause", job}).code, 0);
  EXPECT_TRUE(Eventually([&] { return Job(job)["state"] == "TUNING_JOB_STATE_PAUSED"; }));
  EXPECT_EQ(MdhJson({"jobs", "--state", "paused"})["jobs"].size(), 1u);
  EXPECT_FALSE(MdhJson({"jobs", "--state", "running"}).contains("jobs") &&
               !MdhJson({"jobs", "--state", "running"})["jobs"].empty());
  const Ended wrong = Mdh({"jobs", "--state", "sleeping"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("queued, running"));
  const nlohmann::json trials = MdhJson({"trials", job});
  ASSERT_FALSE(trials["trials"].empty());
  EXPECT_EQ(trials["trials"][0]["number"], "1");
  EXPECT_THAT(Mdh({"trials", job, "--limit", "1"}).out, HasSubstr("OUTCOME"));
  EXPECT_EQ(Mdh({"resume", job}).code, 0);
  EXPECT_EQ(Mdh({"cancel", job}).code, 0);
  EXPECT_TRUE(Eventually([&] { return Job(job)["state"] == "TUNING_JOB_STATE_CANCELLED"; }));
  EXPECT_EQ(Mdh({"pause", job}).code, 1);
  EXPECT_EQ(Mdh({"trials", "99"}).code, 4);
}

TEST_F(CareTest, AKernelComesAtOnceAndTuningGoesOn) {
  const Ended checked = Mdh(OnMatMul("tune", 64, {"--check", "--priority", "3"}));
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("would take it"));
  EXPECT_EQ(Mdh(OnMatMul("tune", 64, {"--check", "--priority", "30"})).code, 2);
  EXPECT_FALSE(MdhJson({"jobs"}).contains("jobs") && !MdhJson({"jobs"})["jobs"].empty());
  const Ended kernel = Mdh(OnMatMul("kernel", 64, {"--tune", "--output", directory_.File("k")}));
  EXPECT_EQ(kernel.code, 0) << kernel.err;
  EXPECT_THAT(kernel.out, HasSubstr("made from rules\ntuning goes on: tuningJobs/1\n"));
  EXPECT_TRUE(std::filesystem::exists(directory_.File("k/matmul.c")));
  EXPECT_EQ(Mdh({"cancel", "1"}).code, 0);
}

TEST_F(CareTest, ADatabaseThatIsDeletedIsSavedAndCanBePutBack) {
  ASSERT_EQ(Mdh(OnMatMul("tune", 32, kFewTrials)).code, 0);
  EXPECT_EQ(Mdh({"admin", "health", "TuningService"}).out, "SERVING\n");
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(database_ + suffix);
  const std::string recovered = database_ + ".recovered";
  EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(recovered); }));
  EXPECT_EQ(Mdh(OnMatMul("lookup", 32)).code, 0);
  EXPECT_EQ(Mdh(OnMatMul("kernel", 32, {"--output", directory_.File("k")})).code, 0);
  const Ended refused = Mdh(OnMatMul("tune", 33, {"--detach"}));
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("was moved or deleted while the daemon used it"));
  EXPECT_THAT(refused.err, HasSubstr("all that is stored is in " + recovered));
  // Who balances the load sends lookups here, and nothing that has to be written.
  EXPECT_EQ(Mdh({"admin", "health", "KernelService"}).code, 0);
  const Ended health = Mdh({"admin", "health", "TuningService"});
  EXPECT_EQ(health.code, 1);
  EXPECT_EQ(health.out, "NOT_SERVING\n");
  StopDaemon();
  std::filesystem::rename(recovered, database_);
  SetUp();
  EXPECT_EQ(Mdh(OnMatMul("lookup", 32)).code, 0);
  EXPECT_EQ(Mdh({"admin", "check"}).code, 0);
  EXPECT_EQ(Mdh(OnMatMul("tune", 32, kFewTrials)).code, 0);
}

TEST_F(CareTest, RecordsMoveInBundlesAndAreKept) {
  ASSERT_EQ(Mdh(OnMatMul("tune", 32, kFewTrials)).code, 0);
  const std::string name = MdhJson(OnMatMul("lookup", 32))["record"]["name"];
  const std::string bundle = directory_.File("records.mdh");
  ASSERT_EQ(Mdh({"admin", "export", bundle}).code, 0);
  EXPECT_EQ(Mdh({"pin", name}).code, 0);
  EXPECT_EQ(Mdh({"forget", name}).code, 1);
  EXPECT_EQ(Mdh({"unpin", name}).code, 0);
  EXPECT_EQ(Mdh({"forget", name}).code, 0);
  EXPECT_EQ(Mdh(OnMatMul("lookup", 32)).code, 4);
  EXPECT_EQ(MdhJson({"admin", "import", bundle, "--check"})["records"], "1");
  const nlohmann::json imported = MdhJson({"admin", "import", bundle});
  EXPECT_EQ(imported["stored"], "1");
  EXPECT_EQ(Mdh(OnMatMul("lookup", 32)).code, 0);
  EXPECT_EQ(Mdh(OnMatMul("kernel", 32, {"--output", directory_.File("k")})).code, 0);
  EXPECT_EQ(Mdh({"admin", "import", ExpressionPath("matmul.mdh")}).code, 1);
  EXPECT_EQ(Mdh({"admin", "import", "/nowhere"}).code, 2);
  EXPECT_EQ(Mdh({"admin", "export", "/nowhere/at/all"}).code, 7);
}

TEST_F(CareTest, ADaemonIsLookedAfter) {
  const nlohmann::json backup = MdhJson({"admin", "backup"});
  EXPECT_TRUE(
      std::filesystem::exists(directory_.File("backups/" + backup["file"].get<std::string>())));
  EXPECT_THAT(Mdh({"admin", "check"}).out, HasSubstr("all is well"));
  EXPECT_THAT(Mdh({"admin", "stats"}).out, HasSubstr("records "));
  EXPECT_THAT(Mdh({"admin", "capabilities"}).out, HasSubstr("max_queued_jobs: 256"));
  EXPECT_EQ(MdhJson({"admin", "health"})["status"], "SERVING");
  EXPECT_EQ(Mdh({"admin", "health", "mdh.v1.StudyService"}).code, 0);
  EXPECT_EQ(Mdh({"admin", "health", "BreadService"}).code, 4);
  EXPECT_EQ(Mdh({"admin", "gc"}).code, 0);
  EXPECT_EQ(Mdh({"admin", "gc", "--check"}).code, 0);
  EXPECT_EQ(Mdh({"admin"}).code, 2);
  StopDaemon();
  StartDaemon({"--devices", "cpu"});
  const Ended refused = Mdh({"admin", "backup"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("names no folder for backups"));
}

}  // namespace
}  // namespace mdh::care_test
