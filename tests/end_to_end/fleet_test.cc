// Two daemons on one PostgreSQL server.
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <csignal>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/end_to_end/daemon_test_fixture.h"
#include "tests/server/store/postgres_server.h"

namespace mdh::fleet_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FleetTest : public DaemonTest {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<PostgresServer>> server = PostgresServer::Start();
    if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status().message();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    database_of_both_ = *server_->NewDatabase();
  }
  // The words of the daemon with the other one's socket and this database.
  std::vector<std::string> OtherWords(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--database", database_of_both_};
    all.insert(all.end(), more.begin(), more.end());
    std::vector<std::string> words = DaemonWords(all);
    for (std::string& word : words) {
      if (word == address_) word = other_address_;
      if (word == directory_.File("work")) word = directory_.File("other-work");
    }
    return words;
  }
  // Runs it until its devices are open.
  void StartOther(const std::vector<std::string>& more) {
    other_ = std::make_unique<Program>(OtherWords(more));
    ASSERT_TRUE(Eventually([&] {
      return other_->HasEnded() || other_->err().find("devices are open") != std::string::npos;
    }));
    ASSERT_FALSE(other_->HasEnded()) << other_->err();
  }
  void StopOther() {
    other_->Signal(SIGTERM);
    EXPECT_EQ(other_->Wait(), 0) << other_->err();
  }
  bool IsServing(const std::string& service) const {
    const auto stub = grpc::health::v1::Health::NewStub(
        grpc::CreateChannel(other_address_, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    grpc::health::v1::HealthCheckResponse response;
    request.set_service(service);
    const grpc::Status status = stub->Check(&context, request, &response);
    return status.ok() && response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  }
  Ended Other(std::vector<std::string> words) const {
    words.insert(words.begin(), {ProgramPath("mdh"), "--server", other_address_});
    return RunProgram(words);
  }
  std::vector<std::string> Kernel(int size) const {
    return OnMatMul("kernel", size, {"--output", directory_.File("kernel")});
  }
  bool HasEnded(const std::string& job) const {
    const std::string state = Job(job)["state"];
    return state == "TUNING_JOB_STATE_SUCCEEDED";
  }

  std::unique_ptr<PostgresServer> server_;
  std::string database_of_both_;
  const std::string other_address_ = "unix:" + directory_.File("other.sock");
  std::unique_ptr<Program> other_;
};

TEST_F(FleetTest, WhatOneTunesTheOtherServesAndACrashOfTheServerIsSurvived) {
  StartDaemon({"--database", database_of_both_, "--backup-directory", directory_.File("backups")});
  Program other(OtherWords());
  ASSERT_TRUE(Eventually([&] {
    return other.HasEnded() || other.err().find("devices are open") != std::string::npos;
  }));
  ASSERT_FALSE(other.HasEnded()) << other.err();
  const Ended tuned = Mdh(OnMatMul("tune", 16, kFewTrials));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Ended kernel = Other(Kernel(16));
  EXPECT_EQ(kernel.code, 0) << kernel.err;
  EXPECT_THAT(Other({"jobs"}).out, HasSubstr("succeeded"));
  const Ended backup = Mdh({"admin", "backup"});
  EXPECT_THAT(backup.err, HasSubstr("pg_dump"));

  const std::string job = Detached(24, "3s");
  WaitForFirstResult(job);
  server_->End(SIGKILL);
  EXPECT_EQ(Other(OnMatMul("lookup", 16, {"--json"})).code, 0);
  EXPECT_EQ(Other(Kernel(16)).code, 0);  // it was read before
  ASSERT_TRUE(server_->Resume().ok());
  EXPECT_TRUE(Eventually([&] { return HasEnded(job); }));
  EXPECT_TRUE(Eventually([&] { return Other(OnMatMul("lookup", 24)).code == 0; }));

  // What is wanted of a job is heard at once, wherever it is said.
  const std::string cancelled = Detached(32, "60s");
  WaitForFirstResult(cancelled);
  const absl::Time begin = absl::Now();
  EXPECT_EQ(Other({"cancel", cancelled}).code, 0);
  EXPECT_TRUE(Eventually([&] {
    return Other({"jobs", "--json"}).out.find("CANCELLED") != std::string::npos;
  }));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(3));  // leases are renewed every five

  other.Signal(SIGTERM);
  EXPECT_EQ(other.Wait(), 0) << other.err();
}

std::vector<std::string> And(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(FleetTest, AFrontEndWithoutDevicesHasWorkersTuneAndAnswersFromMemory) {
  const std::vector<std::string> on_worker = {"--device", "nodes/w1/devices/cpu"};
  StartOther({"--devices", "none", "--daemon-name", "front", "--max-staleness", "2s"});
  EXPECT_TRUE(IsServing(""));
  EXPECT_TRUE(IsServing("mdh.v1.KernelService"));
  EXPECT_THAT(Other(And(OnMatMul("tune", 16), on_worker)).err,
              HasSubstr("there are none here; other daemons have none, either"));
  StartDaemon({"--database", database_of_both_, "--daemon-name", "w1"});
  ASSERT_TRUE(Eventually(
      [&] { return Other({"devices"}).out.find("nodes/w1/devices/cpu") != std::string::npos; }));
  EXPECT_THAT(Other({"devices"}).out, HasSubstr("nodes/front: mdhd "));

  const Ended unnamed = Other(OnMatMul("tune", 16, kFewTrials));
  EXPECT_THAT(unnamed.err, HasSubstr("no default (--default-device)"));
  EXPECT_THAT(Other(OnMatMul("lookup", 16)).err, HasSubstr("--default-device"));
  const Ended unknown = Other(OnMatMul("tune", 16, {"--device", "cuda0"}));
  EXPECT_THAT(unknown.err, HasSubstr("other daemons have nodes/w1/devices/cpu"));
  const Ended tuned = Other(And(And(OnMatMul("tune", 16), kFewTrials), on_worker));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_EQ(Other(And(Kernel(16), on_worker)).code, 0);
  const std::string job =
      Other(And(OnMatMul("tune", 32, {"--detach", "--budget", "20s"}), on_worker)).out;
  EXPECT_TRUE(Eventually([&] {
    const std::string top = Other({"top", "--once"}).out;
    return top.find("NODE") != std::string::npos && top.find(" w1 ") != std::string::npos;
  })) << Other({"top", "--once"}).out;
  EXPECT_EQ(Other({"cancel", job.substr(0, job.find('\n'))}).code, 0);

  // A lookup does not wait for the server, also in words; balancers hear that it is away.
  server_->End(SIGKILL);
  const absl::Time begin = absl::Now();
  const Ended lookup = Other(And(OnMatMul("lookup", 16), on_worker));
  EXPECT_EQ(lookup.code, 0) << lookup.err;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
  EXPECT_TRUE(Eventually([&] { return !IsServing("mdh.v1.KernelService"); }));
  EXPECT_TRUE(IsServing(""));
  ASSERT_TRUE(server_->Resume().ok());
  EXPECT_TRUE(Eventually([&] { return IsServing("mdh.v1.KernelService"); }));

  // Who ends is not listed any more.
  EXPECT_TRUE(Eventually([&] { return MdhJson({"devices"})["nodes"].size() == 2; }));
  StopDaemon();
  EXPECT_TRUE(
      Eventually([&] { return Other({"devices"}).out.find("nodes/w1") == std::string::npos; }));
  StopOther();
}

TEST_F(FleetTest, WhatOneSaysTheOtherKnowsAndExtends) {
  StartDaemon({"--database", database_of_both_});
  StartOther({});
  // What a client was told of by one is known to the other, whenever it asks that.
  const std::string tuned = Detached(16, "1s");
  ASSERT_TRUE(Eventually([&] { return HasEnded(tuned); }));
  const std::unique_ptr<Client> one = *Client::Connect(address_);
  const std::unique_ptr<Client> two = *Client::Connect(other_address_);
  const v1::TuningJob job = one->GetJob(tuned)->job();
  EXPECT_NE(job.min_cursor(), "");
  EXPECT_EQ(two->GetJob(tuned)->job().min_cursor(), job.min_cursor());
  EXPECT_TRUE(two->GetKernel(job.record()).ok());
  EXPECT_EQ(Other(OnMatMul("lookup", 16)).code, 0);
  // One that it cannot know is not asked for twice.
  two->MustHaveSeen("0123456789abcdef.7");
  EXPECT_TRUE(two->GetKernel(job.record()).ok());
  // Who wants more of a job that the other one has gets it.
  const std::string extended = Detached(24, "30s");
  WaitForFirstResult(extended);
  const Ended twin = Other(OnMatMul("tune", 24, {"--budget", "60s", "--detach"}));
  EXPECT_EQ(twin.code, 0) << twin.err;
  EXPECT_THAT(twin.out, HasSubstr(extended));
  // The answer waits for it, but not for ever.
  EXPECT_THAT(twin.err, HasSubstr("60.0 s"));
  EXPECT_TRUE(Eventually(
      [&] { return one->GetJob(extended)->job().options().budget_ns() == 60'000'000'000; }));
  EXPECT_EQ(Other({"cancel", extended}).code, 0);
  StopOther();
}

TEST_F(FleetTest, AFrontEndHasADefaultDeviceAndServesSome) {
  StartDaemon({"--database", database_of_both_, "--daemon-name", "w1"});
  ASSERT_EQ(Mdh(OnMatMul("tune", 16, kFewTrials)).code, 0);
  const std::string fingerprint = MdhJson({"devices"})["devices"][0]["fingerprint"];
  StartOther(
      {"--devices", "none", "--default-device", fingerprint, "--serve-devices", fingerprint});
  EXPECT_EQ(Other(OnMatMul("lookup", 16)).code, 0);
  const Ended tuned = Other(OnMatMul("tune", 24, kFewTrials));
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  const Ended other = Other(OnMatMul("lookup", 16, {"--device", "h100"}));
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("this daemon does not serve device cuda 'NVIDIA H100"));
  StopOther();
  for (const auto& [option, value, why] :
       {std::array{"--default-device", "a/b", "is no device such as cuda0"},
        std::array{"--serve-devices", "cuda0", "is no fingerprint of a device"},
        std::array{"--max-staleness", "soon", "is no duration"},
        std::array{"--store-patience", "-1s", "is no duration"},
        std::array{"--devices", "none,cpu", "stands alone"}}) {
    Program refused(OtherWords({option, value}));
    EXPECT_EQ(refused.Wait(), 2) << option;
    EXPECT_THAT(refused.err(), HasSubstr(why));
  }
}

// Both have this machine's CPU.
TEST_F(FleetTest, AnIdleDaemonMeasuresTrialsOfTheOthersJobUntilItIsKilled) {
  StartDaemon({"--database", database_of_both_, "--daemon-name", "one"});
  const std::string job = Detached(64, "5m");
  // Before it searches, a daemon measures the peaks of the device, which both have.
  WaitForFirstResult(job);
  Program other(OtherWords({"--daemon-name", "two"}));
  const auto measured_by = [&](const std::string& device) {
    int count = 0;
    const nlohmann::json all = MdhJson({"trials", job, "--limit", "1000"});
    for (const nlohmann::json& trial : all["trials"]) {
      if (trial.value("device", "") == device) ++count;
    }
    return count;
  };
  const std::string of_two = "nodes/two/devices/cpu";
  const auto have_both = [&] { return measured_by("devices/cpu") > 0 && measured_by(of_two) > 0; };
  ASSERT_TRUE(Eventually(have_both) || Eventually(have_both) || Eventually(have_both))
      << other.err();
  EXPECT_THAT(other.err(), HasSubstr("helps tuningJobs/1 of one"));
  EXPECT_THAT(Mdh({"jobs"}).out, HasSubstr("cpu,two:cpu"));
  const std::string table = Mdh({"trials", job, "--limit", "1000"}).out;
  EXPECT_THAT(table, HasSubstr("DEVICE"));
  EXPECT_THAT(table, HasSubstr("two:cpu"));
  // The owner does not stop for that.
  other.Signal(SIGKILL);
  other.Wait();
  const int before = measured_by("devices/cpu");
  EXPECT_TRUE(Eventually([&] { return measured_by("devices/cpu") > before + 5; }));
  EXPECT_EQ(Mdh({"cancel", job}).code, 0);
  EXPECT_TRUE(Eventually([&] { return Job(job)["state"] == "TUNING_JOB_STATE_CANCELLED"; }));
  EXPECT_EQ(Mdh(OnMatMul("lookup", 64)).code, 0);
}

TEST_F(FleetTest, AServerThatIsAwayAtTheStartIsWaitedFor) {
  server_->End(SIGINT);
  Program early(DaemonWords({"--database", database_of_both_}));
  const auto has_logged = [&](const char* text) {
    return early.HasEnded() || early.err().find(text) != std::string::npos;
  };
  EXPECT_TRUE(Eventually([&] { return has_logged("it is waited for"); }));
  ASSERT_TRUE(server_->Resume().ok());
  EXPECT_TRUE(Eventually([&] { return has_logged("devices are open"); }));
  ASSERT_FALSE(early.HasEnded()) << early.err();
  early.Signal(SIGTERM);
  EXPECT_EQ(early.Wait(), 0) << early.err();
}

TEST_F(FleetTest, WhoWaitsForTheServerAtTheStartEndsWhenToldTo) {
  server_->End(SIGINT);
  for (const int signal : {SIGTERM, SIGINT}) {
    Program early(DaemonWords({"--database", database_of_both_}));
    EXPECT_TRUE(Eventually([&] {
      return early.HasEnded() || early.err().find("it is waited for") != std::string::npos;
    }));
    ASSERT_FALSE(early.HasEnded()) << early.err();
    early.Signal(signal);
    EXPECT_EQ(early.Wait(), 0) << early.err();  // 4: when it has waited for as long as it does
  }
}

// Takes connections at the address of a PostgreSQL server, and says nothing.
class SilentServer {
 public:
  explicit SilentServer(const std::string& folder) : descriptor_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    absl::StrCat(folder, "/.s.PGSQL.5432").copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(descriptor_, 8), 0);
  }
  ~SilentServer() { close(descriptor_); }
  bool HasClient() const {
    pollfd readable = {.fd = descriptor_, .events = POLLIN, .revents = 0};
    return poll(&readable, 1, 0) == 1;
  }

 private:
  const int descriptor_;
};

// As when it is stopped, or packets to it are lost.
TEST_F(FleetTest, WhoWaitsForAServerThatDoesNotAnswerEndsWhenToldTo) {
  const std::string folder = directory_.File("silent");
  std::filesystem::create_directory(folder);
  const SilentServer silent(folder);
  // One attempt lasts for an hour.
  Program daemon(
      DaemonWords({"--database", "postgresql://mdhd@/mdhd?connect_timeout=3600&host=" + folder}));
  ASSERT_TRUE(Eventually([&] { return silent.HasClient(); })) << daemon.err();
  daemon.Signal(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return daemon.HasEnded(); })) << "mdhd did not stop";
  EXPECT_EQ(daemon.Wait(), 0) << daemon.err();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(FleetTest, WhoMayOnlyReadSeesOtherDaemonsComeAndGo) {
  const std::string both = database_of_both_;
  // Makes the tables.
  ASSERT_TRUE(OpenPostgresStore({.address = both}).ok());
  const std::string name = both.substr(both.find("test"), both.find('?') - both.find("test"));
  ASSERT_TRUE(server_
                  ->Sql("postgres", absl::StrCat("ALTER DATABASE ", name,
                                                 " SET default_transaction_read_only = on"))
                  .ok());
  StartDaemon({"--database", both, "--devices", "none", "--job-lease", "10"}, {}, "is read-only");
  const auto sees_other = [&] {
    return Mdh({"devices"}).out.find("nodes/w1/devices/cpu") != std::string::npos;
  };
  EXPECT_TRUE(Eventually([&] { return Mdh({"devices"}).code == 0; }));
  EXPECT_FALSE(sees_other());
  database_of_both_ = both + "&options=-cdefault_transaction_read_only%3Doff";
  StartOther({"--daemon-name", "w1"});
  EXPECT_TRUE(Eventually(sees_other)) << Mdh({"devices"}).out << daemon_->err();
  StopOther();
  EXPECT_TRUE(Eventually([&] { return !sees_other(); }));
}

TEST_F(FleetTest, PasswordsAreNotLogged) {
  const std::string secret =
      absl::StrReplaceAll(database_of_both_, {{"//mdhd@", "//stranger:a%20secret@"}});
  Program refused(DaemonWords({"--database", secret}));
  EXPECT_EQ(refused.Wait(), 4);
  EXPECT_THAT(refused.err(), HasSubstr("password authentication failed"));
  EXPECT_THAT(refused.err(), Not(HasSubstr("secret")));
  const std::string open = absl::StrReplaceAll(database_of_both_, {{"//mdhd@", "//mdhd:secret@"}});
  StartDaemon({"--database", open});
  EXPECT_THAT(daemon_->err(), HasSubstr("database=postgresql://mdhd:***@/"));
  EXPECT_THAT(daemon_->err(), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace mdh::fleet_test
