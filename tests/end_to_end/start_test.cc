// A daemon that starts and stops while something else is wrong.
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"
#include "tests/end_to_end/narrow_matmul.h"
#include "tests/tuner/processes.h"
#include "tuner/process/clock.h"

namespace mdh::start_test {
namespace {

using ::testing::HasSubstr;

class StartTest : public DaemonTest {
 protected:
  // A folder in which all compilers do `script`.
  std::string FolderOfCompilers(const std::string& script) const {
    const std::string folder = directory_.File("bin");
    std::filesystem::create_directories(folder);
    for (const char* name : {"gcc", "cc", "clang"}) {
      std::ofstream(folder + "/" + name) << "#!/bin/sh\n" << script << "\n";
      std::filesystem::permissions(folder + "/" + name, std::filesystem::perms::owner_all);
    }
    return folder;
  }
  // Of a daemon with these options, far sooner than anything that hangs is waited for.
  void ExpectLookupsAtOnce(const std::vector<std::string>& options,
                           const std::vector<std::string>& environment) {
    const int64_t begin_ns = NowNs();
    StartDaemon(options, environment, "listening on");
    const Ended lookup = Mdh(OnMatMul("lookup", 16));
    EXPECT_LT(NowNs() - begin_ns, 5'000'000'000);
    EXPECT_THAT(lookup.err, HasSubstr("there is no kernel for expression"));
  }
  // Ends within the time that mdhd promises, and a little for the test's own looks.
  void StopSoon() {
    const int64_t begin_ns = NowNs();
    StopDaemon();
    EXPECT_LT(NowNs() - begin_ns, 2'500'000'000);
  }
};

TEST_F(StartTest, LookupsAreServedWhileACompilerHangs) {
  ExpectLookupsAtOnce({"--devices", "cpu"},
                      {"PATH=" + FolderOfCompilers("sleep 1000") + ":/usr/bin:/bin"});
  StopSoon();
}

TEST_F(StartTest, LookupsAreServedWithoutACompiler) {
  ExpectLookupsAtOnce({"--devices", "cpu"}, {"PATH=/nowhere/at/all"});
  StopSoon();
}

TEST_F(StartTest, LookupsAreServedWhileADriverHangs) {
  const std::string folder = directory_.File("lib");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/driver.c")
      << "#include <unistd.h>\n__attribute__((constructor)) static void hang(void) { sleep(1000); "
         "}\n";
  if (RunProgram({"gcc", "-shared", "-fPIC", "-o", folder + "/libcuda.so.1", folder + "/driver.c"})
          .code != 0) {
    GTEST_SKIP() << "there is no gcc";
  }
  devices_.clear();
  ExpectLookupsAtOnce({}, {"LD_LIBRARY_PATH=" + folder});
  StopSoon();
}

TEST_F(StartTest, LookupsAreServedThoughManyJobsWait) {
  const char* const wanted = std::getenv("MDH_QUEUED_JOBS");
  const int jobs = wanted == nullptr ? 200 : std::atoi(wanted);
  const std::vector<std::string> options = {"--devices", "cpu", "--max-queued-jobs", "100000"};
  StartDaemon(options);
  const std::unique_ptr<Client> client = *Client::Connect(address_);
  for (int n = 0; n < jobs; ++n) {
    ASSERT_TRUE(client->CreateJob(NarrowMatMul(100 + n), {.budget_ns = 3'600'000'000'000}).ok());
  }
  daemon_->Signal(SIGKILL);
  EXPECT_EQ(daemon_->Wait(), 128 + SIGKILL);
  ExpectLookupsAtOnce(options, {});
  EXPECT_TRUE(Eventually([&] {
    const nlohmann::json figures = MdhJson({"admin", "stats"});
    const auto count = [&](const char* name) {
      return figures.contains(name) ? std::stoi(figures[name].get<std::string>()) : 0;
    };
    return count("queued_jobs") + count("running_jobs") == jobs;
  })) << MdhJson({"admin", "stats"});
  StopSoon();
}

TEST_F(StartTest, WhatIsMadeForADeviceWaitsUntilItIsKnown) {
  StartDaemon({"--devices", "cpu"}, {}, "listening on");
  const std::unique_ptr<Client> client = *Client::Connect(address_);
  const Expression map = *ParseExpression(
      "m := out_view<fp32>( y: (i)->(i) ) o md_hom<8>( f, (++) ) o inp_view<fp32>( x: (i)->(i) ) "
      "where f(x) -> y { y = x }");
  const auto best = client->GetBestKernel(map, {}, v1::MATCH_KIND_PREDICTED);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_THAT(best->record().key().compiler(), HasSubstr("gcc"));
}

TEST_F(StartTest, ADeviceThatIsNotThereEndsTheDaemonByName) {
  const Ended ended = RunProgram(DaemonWords({"--devices", "cuda:77"}));
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("mdhd: error: --devices: there is no cuda:77"));
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(StartTest, ItStopsSoonThoughItsRunnerHangs) {
  StartDaemon({"--devices", "cpu"});
  ASSERT_EQ(Mdh({"devices"}).code, 0);
  const std::string job = Detached(64, "60s");
  WaitForFirstResult(job);
  std::vector<pid_t> runners = DescendantsNamed("mdh-runner");
  ASSERT_FALSE(runners.empty());
  for (const pid_t runner : runners) kill(runner, SIGSTOP);
  StopSoon();
  EXPECT_TRUE(Eventually([] { return DescendantsNamed("mdh-runner").empty(); }));
}

TEST_F(StartTest, StandardStreamsMayBeClosed) {
  std::string command = "exec 0<&- 1>&- 2>&-; exec";
  for (const std::string& word : DaemonWords({"--devices", "cpu"}))
    absl::StrAppend(&command, " ", word);
  daemon_ = std::make_unique<Program>(std::vector<std::string>{"sh", "-c", command});
  EXPECT_TRUE(Eventually([this] { return std::filesystem::exists(socket_); }));
  EXPECT_EQ(Mdh({"devices"}).code, 0);
  StopSoon();
}

TEST_F(StartTest, AFolderForTemporaryFilesThatIsMissingIsNamed) {
  Program daemon({ProgramPath("mdhd"), "--listen", address_, "--database", database_},
                 {"TMPDIR=/nowhere/at/all"});
  EXPECT_EQ(daemon.Wait(), 2);
  EXPECT_THAT(daemon.err(), HasSubstr("/nowhere/at/all"));
  EXPECT_THAT(daemon.err(), HasSubstr("--work-directory"));
}

}  // namespace
}  // namespace mdh::start_test
