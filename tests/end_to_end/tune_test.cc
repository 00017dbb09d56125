// From an expression to a kernel that a C program calls.
#include <chrono>
#include <fstream>
#include <thread>

#include "client/client.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::tune_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Calls the kernel on small integers, with its own scratch memory and with the caller's, and
// compares.
constexpr const char* kCaller = R"c(
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "matmul.h"
enum { N = 48 };
static float a[N * N], b[N * N], c[N * N];
static int check(const char* what) {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < N; ++k) sum += a[i * N + k] * b[k * N + j];
      if (c[i * N + j] != sum) { printf("%s: wrong at %d %d\n", what, i, j); return 1; }
      c[i * N + j] = -1;
    }
  return 0;
}
int main(void) {
  for (int n = 0; n < N * N; ++n) { a[n] = n % 7 - 3; b[n] = n % 5 - 2; c[n] = -1; }
  if (mdh_matmul(a, b, c, NULL) != 0 || check("own scratch")) return 1;
  size_t bytes = (mdh_matmul_scratch_bytes(8) + 63) / 64 * 64 + 64;
  void* scratch = aligned_alloc(64, bytes);
  if (mdh_matmul(a, b, c, scratch) != 0 || check("given scratch")) return 1;
  for (int stage = 0; stage < STAGES; ++stage)
    for (int thread = 0; thread < 3; ++thread)
      mdh_matmul_body(stage, thread, 3, a, b, c, scratch);
  return check("body");
}
)c";

class TuneTest : public DaemonTest {
 protected:
  void SetUp() override { StartDaemon(); }
  // Whether the record of the best so far is stored, which is a moment after its trial was heard
  // of.
  bool IsRecordStoredSoon(int size) const {
    for (int tries = 0; tries < 50; ++tries) {
      if (Mdh(OnMatMul("lookup", size)).code == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }
  // The job of an earlier daemon goes on with what it had.
  void ExpectTakenUp(const std::string& job) {
    EXPECT_TRUE(Eventually([&] { return Job(job)["state"] == "TUNING_JOB_STATE_RUNNING"; }));
    EXPECT_EQ(Job(job)["restarts"], 1);
    EXPECT_GT(std::stoll(Job(job)["progress"]["trials"].get<std::string>()), 0);
    EXPECT_EQ(Mdh({"cancel", job}).code, 0);
  }
};

TEST_F(TuneTest, WaitsForADaemonThatIsRestarted) {
  Program tune(MdhWords(OnMatMul("tune", 64, {"--budget", "2s"})));
  EXPECT_TRUE(Eventually([&] {
    const nlohmann::json jobs = MdhJson({"jobs", "--state", "running"});
    return jobs.contains("jobs") && !jobs["jobs"].empty();
  }));
  daemon_->Signal(SIGKILL);
  daemon_->Wait();
  EXPECT_TRUE(Eventually([&] { return tune.err().find("does not answer") != std::string::npos; }))
      << tune.err();
  StartDaemon();
  EXPECT_EQ(tune.Wait(), 0) << tune.err();
  EXPECT_THAT(tune.out(), HasSubstr("matmul on "));
}

TEST_F(TuneTest, TunesAndShowsWhatItFound) {
  const Ended tuned = Mdh(OnMatMul("tune", 48, kFewTrials));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.out, StartsWith("matmul on "));
  EXPECT_THAT(tuned.out, HasSubstr("of the measured peak of"));
  EXPECT_THAT(tuned.out, HasSubstr("loop nest"));
  EXPECT_THAT(tuned.out, Not(HasSubstr("(De/re)-composition of matmul")));
  EXPECT_THAT(tuned.out, HasSubstr("\nnext: mdh kernel "));
  EXPECT_THAT(tuned.out, HasSubstr("\n      mdh report 1\n"));
  EXPECT_THAT(tuned.out, Not(HasSubstr("\r")));

  const Ended found = Mdh(OnMatMul("lookup", 48));
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_EQ(found.out, tuned.out);
  EXPECT_THAT(Mdh(OnMatMul("lookup", 48, {"--table"})).out,
              HasSubstr("(De/re)-composition of matmul"));
}

TEST_F(TuneTest, AWrittenKernelCompilesAndComputes) {
  ASSERT_EQ(Mdh(OnMatMul("tune", 48, kFewTrials)).code, 0);
  const std::string folder = directory_.File("kernels/of/mine");
  const Ended written = Mdh(OnMatMul("kernel", 48, {"--output", folder}));
  ASSERT_EQ(written.code, 0) << written.err;
  const nlohmann::json launch = nlohmann::json::parse(ReadFile(folder + "/matmul.json"));
  EXPECT_EQ(launch["entry"], "mdh_matmul");
  EXPECT_EQ(launch["arguments"][2]["size_bytes"], 48 * 48 * 4);
  EXPECT_EQ(launch["arguments"][2]["is_output"], true);

  std::ofstream(folder + "/caller.c") << kCaller;
  const std::string command = "cd " + folder + " && " + std::string(launch["compile_command"]) +
                              " && cc -std=c11 -DSTAGES=" + std::to_string(int{launch["stages"]}) +
                              " -c caller.c && " + std::string(launch["compiler"]) +
                              " -fopenmp caller.o matmul.o -o caller -lm && ./caller";
  const Ended called = RunProgram({"/bin/sh", "-c", command});
  EXPECT_EQ(called.code, 0) << called.out << called.err;
  EXPECT_EQ(RunProgram({"c++", "-fsyntax-only", "-x", "c++", folder + "/matmul.h"}).code, 0);
}

TEST_F(TuneTest, EverythingIsFoundAfterARestart) {
  ASSERT_EQ(Mdh(OnMatMul("tune", 48, kFewTrials)).code, 0);
  // Of others, what was measured on a disturbed machine would be searched again.
  ASSERT_EQ(Mdh({"pin", MdhJson(OnMatMul("lookup", 48))["record"]["name"]}).code, 0);
  const nlohmann::json before = MdhJson(OnMatMul("lookup", 48));
  const std::string digest = before["record"]["key"]["expression_digest"];
  StopDaemon();
  StartDaemon();
  EXPECT_EQ(MdhJson(OnMatMul("lookup", 48)), before);
  EXPECT_EQ(MdhJson({"lookup", digest}), before);
  EXPECT_EQ(Mdh({"kernel", digest, "--output", directory_.File("k")}).code, 0);
  EXPECT_THAT(ReadFile(directory_.File("k/matmul.c")), HasSubstr("mdh_matmul"));
  EXPECT_EQ(Job("tuningJobs/1")["state"], "TUNING_JOB_STATE_SUCCEEDED");
  // A known result is not searched again.
  const nlohmann::json again = MdhJson(OnMatMul("tune", 48, kFewTrials));
  EXPECT_EQ(again["job"]["name"], "tuningJobs/2");
  EXPECT_EQ(again["record"], before["record"]);
}

TEST_F(TuneTest, ForceNeverStoresAWorseResult) {
  std::vector<std::string> more = {"--budget", "30s", "--trials", "8"};
  const nlohmann::json first = MdhJson(OnMatMul("tune", 48, more));
  more.insert(more.end(), {"--seed", "7", "--force"});
  const nlohmann::json second = MdhJson(OnMatMul("tune", 48, more));
  EXPECT_EQ(second["job"]["options"]["seed"], "7");
  // Of a time that others have disturbed nobody knows whether it is worse.
  if (first["record"].value("is_disturbed", false)) return;
  EXPECT_LE(std::stoll(std::string(second["record"]["time_ns"])),
            std::stoll(std::string(first["record"]["time_ns"])));
}

TEST_F(TuneTest, TrialsLimitTheSearch) {
  const nlohmann::json tuned =
      MdhJson(OnMatMul("tune", 48, {"--budget", "60s", "--trials", "3", "--technique", "random"}));
  EXPECT_LE(std::stoll(std::string(tuned["record"]["trials"])), 16);
  EXPECT_LT(std::stoll(std::string(tuned["record"]["search_time_ns"])), 50'000'000'000);
  EXPECT_EQ(tuned["record"]["technique"], "random");
}

TEST_F(TuneTest, IdenticalConcurrentRequestsShareOneJob) {
  const std::string first = Detached(96, "60s");
  EXPECT_EQ(Detached(96, "30s"), first);
  const std::string other = Detached(97, "60s");
  EXPECT_NE(other, first);
  EXPECT_EQ(Mdh({"cancel", other}).code, 0);
  EXPECT_EQ(Mdh({"cancel", first}).code, 0);
  EXPECT_EQ(Mdh({"watch", first}).code, 6);
}

TEST_F(TuneTest, ACancelledJobKeepsItsBest) {
  const std::string job = Detached(96, "120s");
  WaitForFirstResult(job);
  const Ended cancelled = Mdh({"cancel", job.substr(job.find('/') + 1)});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  const Ended watched = Mdh({"watch", job});
  EXPECT_EQ(watched.code, 6);
  EXPECT_THAT(watched.err,
              HasSubstr("mdh: error: " + job + " was cancelled; the best so far is stored\n"));
  EXPECT_THAT(watched.out, HasSubstr("next: mdh kernel "));
  EXPECT_EQ(MdhJson(OnMatMul("lookup", 96))["record"]["search_end"], "SEARCH_END_CANCELLED");
}

TEST_F(TuneTest, CtrlCCancelsTheJobAndShowsItsBest) {
  Program tune(MdhWords(OnMatMul("tune", 96, {"--budget", "120s"})));
  ASSERT_TRUE(Eventually([&] { return !MdhJson({"jobs"})["jobs"].empty(); }));
  WaitForFirstResult("tuningJobs/1");
  tune.Signal(SIGINT);
  EXPECT_EQ(tune.Wait(), 6) << tune.err();
  EXPECT_THAT(tune.out(), HasSubstr("matmul on "));
  EXPECT_EQ(Job("tuningJobs/1")["state"], "TUNING_JOB_STATE_CANCELLED");
}

TEST_F(TuneTest, WatchingGivesNumberedStepsUpToTheEnd) {
  const std::unique_ptr<Client> client = *Client::Connect(address_);
  const Expression matmul = *ParseExpression(ReadFile(ExpressionPath("matmul.mdh")),
                                             {{"I", "48"}, {"J", "48"}, {"K", "48"}});
  const Result<v1::CreateTuningJobResponse> created =
      client->CreateJob(matmul, {.budget_ns = 30'000'000'000, .max_trials = 4});
  ASSERT_TRUE(created.ok()) << created.status();
  std::vector<v1::TuningProgress> steps;
  const auto keep = [&](const v1::TuningProgress& step) { steps.push_back(step); };
  ASSERT_TRUE(client->Watch(created->job().name(), 0, keep).ok());
  ASSERT_GE(steps.size(), 3u);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].sequence(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(steps.back().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  // Resumed in the middle, the rest comes again.
  const int64_t middle = steps[1].sequence();
  const size_t all = steps.size();
  steps.clear();
  ASSERT_TRUE(client->Watch(created->job().name(), middle, keep).ok());
  EXPECT_EQ(steps.size(), all - static_cast<size_t>(middle));
  EXPECT_EQ(client->Watch("tuningJobs/99", 0, keep).code(), absl::StatusCode::kNotFound);
}

TEST_F(TuneTest, TheLibraryTunesLooksUpAndFetches) {
  const std::unique_ptr<Client> client = *Client::Connect(address_);
  const Expression matmul = *ParseExpression(ReadFile(ExpressionPath("matmul.mdh")),
                                             {{"I", "40"}, {"J", "40"}, {"K", "40"}});
  EXPECT_EQ(client->Lookup(matmul).status().code(), absl::StatusCode::kNotFound);
  int steps = 0;
  const Result<v1::TuningRecord> record =
      client->Tune(matmul, {.budget_ns = 30'000'000'000, .max_trials = 4},
                   [&](const v1::TuningProgress&) { ++steps; });
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_GT(steps, 2);
  const Result<v1::LookupKernelResponse> found = client->Lookup(matmul);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(found->record().SerializeAsString(), record->SerializeAsString());
  EXPECT_EQ(client->GetKernel(record->name())->entry(), "mdh_matmul");
  EXPECT_EQ(client->GetKernel("kernels/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client->GetKernel("nonsense").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TuneTest, AStoppedDaemonGoesOnWithItsJobs) {
  const std::string job = Detached(96, "120s");
  WaitForFirstResult(job);
  StopDaemon();
  StartDaemon();
  // What was found is there at once.
  EXPECT_EQ(Mdh(OnMatMul("lookup", 96)).code, 0);
  ExpectTakenUp(job);
}

TEST_F(TuneTest, AKilledDaemonGoesOnWithItsJobsDespiteTheStaleSocket) {
  const std::string job = Detached(96, "120s");
  WaitForFirstResult(job);
  EXPECT_TRUE(IsRecordStoredSoon(96));
  daemon_->Signal(SIGKILL);
  EXPECT_EQ(daemon_->Wait(), 128 + SIGKILL);
  EXPECT_TRUE(std::filesystem::exists(socket_));
  StartDaemon();
  EXPECT_EQ(Mdh(OnMatMul("lookup", 96)).code, 0);
  ExpectTakenUp(job);
}

// Of a record; of one that others have disturbed, which is searched anew whatever is asked for,
// other words.
auto Tells(const char* note) {
  return AnyOf(HasSubstr(note), HasSubstr("during which others used the machine"));
}

TEST_F(TuneTest, MoreSearchGoesOnAndLessIsToldWhatThereIs) {
  ASSERT_EQ(Mdh(OnMatMul("tune", 48, {"--budget", "1s"})).code, 0);
  const Ended less = Mdh(OnMatMul("tune", 48, {"--budget", "500ms"}));
  EXPECT_EQ(less.code, 0);
  EXPECT_THAT(less.err, Tells("there is a record, behind which stands a search of "));
  const Ended any = Mdh(OnMatMul("tune", 48));
  EXPECT_EQ(any.code, 0);
  EXPECT_THAT(any.err, Tells("there is a record"));
  const nlohmann::json known = MdhJson(OnMatMul("lookup", 48));
  const int64_t trials = std::stoll(std::string(known["record"]["trials"])) + 3;
  const Ended more =
      Mdh(OnMatMul("tune", 48, {"--budget", "60s", "--trials", std::to_string(trials)}));
  EXPECT_EQ(more.code, 0);
  EXPECT_THAT(more.err, Tells("goes on from a search of "));
}

TEST_F(TuneTest, JoiningWithALargerBudgetExtendsTheJob) {
  const std::string job = Detached(96, "60s");
  const Ended joined = Mdh(OnMatMul("tune", 96, {"--budget", "90s", "--detach"}));
  EXPECT_THAT(joined.err, HasSubstr("joined " + job + " and extended it from 60.0 s to 90.0 s"));
  EXPECT_EQ(Job(job)["options"]["budget_ns"], "90000000000");
  EXPECT_EQ(Mdh({"cancel", job}).code, 0);
}

}  // namespace
}  // namespace mdh::tune_test
