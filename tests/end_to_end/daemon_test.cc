// Starting and stopping mdhd, and everything that may be in its way.
#include <sqlite3.h>

#include <regex>

#include "client/client.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::daemon_test {
namespace {

using ::testing::HasSubstr;

class DaemonStartTest : public DaemonTest {
 protected:
  // Expects that mdhd ends by itself with this code and message.
  void ExpectRefusal(int code, const std::string& message,
                     const std::vector<std::string>& more = {}) const {
    const Ended ended = RunProgram(DaemonWords(more));
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("mdhd: error: "));
    EXPECT_THAT(ended.err, HasSubstr(message));
  }
  void RunSql(const char* sql) const {
    std::filesystem::create_directories(directory_.path() / "state");
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(database_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
};

TEST_F(DaemonStartTest, SaysWhatItFoundAndStopsCleanly) {
  StartDaemon();
  EXPECT_THAT(daemon_->err(), HasSubstr("device=devices/cpu cpu '"));
  EXPECT_THAT(daemon_->err(), HasSubstr("; compiler gcc "));
  EXPECT_EQ(std::filesystem::status(socket_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  StopDaemon();
}

TEST_F(DaemonStartTest, CtrlCStopsItToo) {
  StartDaemon();
  daemon_->Signal(SIGINT);
  EXPECT_EQ(daemon_->Wait(), 0);
  daemon_.reset();
}

TEST_F(DaemonStartTest, HelpAndVersionNeedNothing) {
  const Ended help = RunProgram({ProgramPath("mdhd"), "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("Exit codes:"));
  const Ended version = RunProgram({ProgramPath("mdhd"), "--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, ::testing::StartsWith("mdhd "));
}

TEST_F(DaemonStartTest, WrongUsageIsRefused) {
  ExpectRefusal(2, "--nonsense", {"--nonsense"});
  ExpectRefusal(2, "--insecure-listen", {"--listen", "0.0.0.0:0"});
  ExpectRefusal(2, "'somewhere' is neither", {"--listen", "somewhere"});
  ExpectRefusal(2, "no octal number", {"--socket-mode", "9"});
}

TEST_F(DaemonStartTest, ASocketInUseIsRefused) {
  StartDaemon();
  ExpectRefusal(3, "another mdhd is listening on " + address_);
  EXPECT_EQ(Mdh({"jobs"}).code, 0);
}

TEST_F(DaemonStartTest, ADatabaseInUseIsRefused) {
  StartDaemon();
  const Ended ended =
      RunProgram({ProgramPath("mdhd"), "--listen", address_ + "2", "--database", database_});
  EXPECT_EQ(ended.code, 4);
  EXPECT_THAT(ended.err, HasSubstr("database " + database_ + " is in use by another mdhd"));
}

TEST_F(DaemonStartTest, ADatabaseOfAnotherApplicationIsRefused) {
  RunSql("CREATE TABLE songs (title TEXT)");
  ExpectRefusal(4, "database " + database_ + " belongs to another application");
}

TEST_F(DaemonStartTest, ANewerDatabaseIsRefused) {
  StartDaemon();
  StopDaemon();
  RunSql("PRAGMA user_version = 99");
  ExpectRefusal(4, "has schema version 99");
}

TEST_F(DaemonStartTest, ADiskThatIsFullFromTheStartIsRefused) {
  ExpectRefusal(4, "full", {"--max-database-bytes", "4096"});
}

TEST_F(DaemonStartTest, AFullDiskRefusesJobsAndLosesNothing) {
  StartDaemon({"--max-database-bytes", "200000"});
  ASSERT_EQ(Mdh(OnMatMul("tune", 32, kFewTrials)).code, 0);
  // Of others, what was measured on a disturbed machine would be searched again by each request.
  ASSERT_EQ(Mdh({"pin", MdhJson(OnMatMul("lookup", 32))["record"]["name"]}).code, 0);
  const nlohmann::json before = MdhJson(OnMatMul("lookup", 32));
  const std::unique_ptr<Client> client = *Client::Connect(address_);
  const Expression matmul = *ParseExpression(ReadFile(ExpressionPath("matmul.mdh")),
                                             {{"I", "32"}, {"J", "32"}, {"K", "32"}});
  // Every request of a known result is a job that has ended, and a row.
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) status = client->CreateJob(matmul, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  const Ended refused = Mdh(OnMatMul("tune", 33));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("full"));
  EXPECT_EQ(MdhJson(OnMatMul("lookup", 32)), before);
  StopDaemon();
  StartDaemon();
  EXPECT_EQ(MdhJson(OnMatMul("lookup", 32)), before);
  EXPECT_EQ(Mdh(OnMatMul("tune", 33, kFewTrials)).code, 0);
}

TEST_F(DaemonStartTest, WithoutACompilerLookupsAreServedAndTuningIsRefused) {
  StartDaemon();
  ASSERT_EQ(Mdh(OnMatMul("tune", 32, kFewTrials)).code, 0);
  StopDaemon();
  StartDaemon({}, {"PATH=/nowhere"});
  EXPECT_THAT(daemon_->err(), HasSubstr("only lookups are served"));
  const Ended refused = Mdh(OnMatMul("tune", 33, kFewTrials));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("compiler"));
  EXPECT_EQ(Mdh(OnMatMul("lookup", 32)).code, 0);
  EXPECT_EQ(Mdh(OnMatMul("kernel", 32, {"--output", directory_.File("k")})).code, 0);
  EXPECT_EQ(MdhJson({"devices"})["devices"][0]["can_tune"], false);
}

TEST_F(DaemonStartTest, WithoutARunnerTuningIsRefused) {
  StartDaemon({"--runner", "/nowhere/mdh-runner"});
  const Ended refused = Mdh(OnMatMul("tune", 32, kFewTrials));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("/nowhere/mdh-runner"));
}

TEST_F(DaemonStartTest, ListensOnLoopbackOnRequest) {
  StartDaemon({"--listen", "127.0.0.1:0"});
  std::string log;
  std::smatch port;
  const std::regex pattern("listening on (127\\.0\\.0\\.1:[0-9]+)");
  ASSERT_TRUE(Eventually([&] {
    log = daemon_->err();
    return std::regex_search(log, port, pattern);
  })) << log;
  EXPECT_EQ(RunProgram({ProgramPath("mdh"), "--server", port[1].str(), "jobs"}).code, 0);
  EXPECT_EQ(RunProgram({ProgramPath("mdh"), "jobs"}, {"MDH_SERVER=" + port[1].str()}).code, 0);
}

TEST_F(DaemonStartTest, TheEnvironmentConfiguresAndFlagsTakePrecedence) {
  const std::string other = directory_.File("other.sqlite");
  StartDaemon({}, {"MDHD_DATABASE=/nowhere/at/all.sqlite", "MDHD_LOG_LEVEL=info"});
  StopDaemon();
  const Ended ended = RunProgram({ProgramPath("mdhd"), "--database", other},
                                 {"MDHD_LISTEN=0.0.0.0:0", "MDHD_LOG_LEVEL=off"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("0.0.0.0:0"));
}

}  // namespace
}  // namespace mdh::daemon_test
