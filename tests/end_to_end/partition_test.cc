// Daemons that are cut off from the PostgreSQL server that they share, each in another way: others
// take their jobs over, and nobody works on a job that is another's.
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/cut_network.h"
#include "tests/end_to_end/fleet_audit.h"
#include "tests/end_to_end/fleet_member.h"
#include "tests/end_to_end/narrow_matmul.h"

namespace mdh::partition_test {
namespace {

constexpr int kLeaseS = 6;

// What is done to a network, and what undoes it.
struct Cut {
  const char* what;
  bool is_in_middle;  // or in the daemon's own network
  const char* cut;
  const char* heal;
};
// "N" and "ADDRESS": the daemon's number and address.
constexpr Cut kCuts[] = {
    {"link down", true, "link set endN down", "link set endN up"},
    {"nothing comes back", true, "route add blackhole ADDRESS/32",
     "route del blackhole ADDRESS/32"},
    {"packets to the port are dropped", false, "rule add ipproto tcp dport 5432 type blackhole",
     "rule del ipproto tcp dport 5432 type blackhole"},
};
constexpr int kCutOff = std::size(kCuts);

class PartitionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "networks need root";
    const std::string problem = network_.Make(kCutOff + 1);
    if (!problem.empty()) GTEST_SKIP() << problem;
    Result<std::unique_ptr<PostgresServer>> server = PostgresServer::Start(
        {.settings = absl::StrCat("listen_addresses = '", CutNetwork::kMiddle, "'\n"),
         .access = "host all all 198.51.100.0/24 trust\n",
         .network = network_.middle().Path()});
    if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status().message();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const std::string by_socket = *server_->NewDatabase();
    audit_ = std::make_unique<FleetAudit>(by_socket);
    const std::string database =
        by_socket.substr(0, by_socket.find('?')) + "?host=" + CutNetwork::kMiddle;
    for (int n = 0; n <= kCutOff; ++n) {
      members_.emplace_back(directory_.path(), absl::StrCat("daemon", n), network_.at(n).Within(),
                            database,
                            std::vector<std::string>{"--job-lease", std::to_string(kLeaseS)});
      members_[n].Start();
    }
    for (FleetMember& member : members_) member.AwaitDevices();
    ASSERT_EQ(audit_->Begin(), absl::OkStatus());
  }
  void TearDown() override {
    for (FleetMember& member : members_) member.Stop();
  }

  // Runs that on each of those that are to be cut off.
  void OnAll(const char* Cut::*words) {
    for (int n = 0; n < kCutOff; ++n) {
      const NetworkOfProcess& where = kCuts[n].is_in_middle ? network_.middle() : network_.at(n);
      where.Ip(absl::StrReplaceAll(kCuts[n].*words, {{"endN", absl::StrCat("end", n)},
                                                     {"ADDRESS", CutNetwork::AddressOf(n)}}));
    }
  }
  // A job that lasts longer than the test.
  static std::string NewJob(const FleetMember& member, int64_t size) {
    const std::unique_ptr<Client> client = *Client::Connect(member.address());
    const auto created = client->CreateJob(NarrowMatMul(size), {.budget_ns = 300'000'000'000});
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->job().name() : "";
  }
  // As the daemon believes; -1: it does not, and cannot ask the server.
  static int64_t TrialsAt(const FleetMember& member, const std::string& job) {
    const std::unique_ptr<Client> client = *Client::Connect(member.address());
    const Result<v1::GetTuningJobResponse> found = client->GetJob(job);
    EXPECT_TRUE(found.ok() || absl::IsUnavailable(found.status())) << found.status();
    return found.ok() ? found->job().progress().trials() : -1;
  }
  static bool IsCancelled(Client& client, const std::string& job) {
    const Result<v1::GetTuningJobResponse> found = client.GetJob(job);
    return found.ok() && found->job().state() == v1::TUNING_JOB_STATE_CANCELLED;
  }
  // Jobs that the one that is not cut off has taken from others.
  int64_t TakenOver() {
    return audit_->Number(absl::StrCat("SELECT count(*) FROM mdhd.jobs WHERE owner = 'daemon",
                                       kCutOff, "' AND epoch > 1"));
  }
  // When the daemon stopped the job because it did not hear of the database, by its log.
  static absl::Time StoppedAt(FleetMember& member, const std::string& job) {
    const std::string number = job.substr(job.find('/') + 1);
    const std::string log = member.program().err();
    const size_t found = log.find(
        absl::StrCat("job=", number, " stops: the database was not heard of for the time of"));
    if (found == std::string::npos) return absl::InfiniteFuture();
    const size_t begin = log.rfind('\n', found) + 1;
    absl::Time time = absl::InfiniteFuture();
    std::string error;
    EXPECT_TRUE(absl::ParseTime("%Y-%m-%dT%H:%M:%E*S",
                                log.substr(begin, log.find(' ', begin) - begin),
                                absl::LocalTimeZone(), &time, &error))
        << error;
    return time;
  }
  static bool IsIdle(const FleetMember& member) {
    const Result<v1::Device> device =
        (*Client::Connect(member.address()))->GetDevice("devices/cpu");
    EXPECT_TRUE(device.ok()) << device.status();
    return device.ok() && device->load().running_job().empty();
  }
  // Those that are cut off work on nothing any more.
  void ExpectNoTrials(const std::vector<std::string>& jobs, absl::Time cut) {
    for (int n = 0; n < kCutOff; ++n) {
      FleetMember& member = members_[n];
      SCOPED_TRACE(kCuts[n].what);
      EXPECT_TRUE(Eventually([&] { return StoppedAt(member, jobs[n]) < absl::InfiniteFuture(); }));
      // The last lease was granted at most when the last link was cut.
      EXPECT_LE(StoppedAt(member, jobs[n]) - cut, absl::Seconds(kLeaseS + 1));
      // Trials that had begun end, and count when their writes were given up, which wait for the
      // server, one after the other.
      EXPECT_TRUE(Eventually([&] { return IsIdle(member); })) << member.program().err();
    }
    std::vector<int64_t> trials;
    for (int n = 0; n < kCutOff; ++n) trials.push_back(TrialsAt(members_[n], jobs[n]));
    absl::SleepFor(absl::Milliseconds(1'500));
    for (int n = 0; n < kCutOff; ++n) {
      EXPECT_TRUE(IsIdle(members_[n])) << kCuts[n].what;
      EXPECT_LE(TrialsAt(members_[n], jobs[n]), trials[n]) << kCuts[n].what << "\n"
                                                           << members_[n].program().err();
    }
  }

  TemporaryDirectory directory_;
  CutNetwork network_;
  std::unique_ptr<PostgresServer> server_;
  std::unique_ptr<FleetAudit> audit_;
  std::vector<FleetMember> members_;
};

TEST_F(PartitionTest, JobsOfDaemonsThatAreCutOffAreTakenOverAndNobodyElseWorksOnThem) {
  std::vector<std::string> jobs;
  for (int n = 0; n < kCutOff; ++n) jobs.push_back(NewJob(members_[n], 100 + n));
  for (int n = 0; n < kCutOff; ++n) {
    EXPECT_TRUE(Eventually([&] { return TrialsAt(members_[n], jobs[n]) > 0; })) << jobs[n];
  }
  OnAll(&Cut::cut);
  const absl::Time cut = absl::Now();
  EXPECT_TRUE(Eventually([&] { return TakenOver() > 0; }));
  EXPECT_LE(absl::Now() - cut, absl::Seconds(kLeaseS + 5));
  EXPECT_GE(absl::Now() - cut, absl::Seconds(kLeaseS - 2));
  ExpectNoTrials(jobs, cut);

  // Whoever has them by now, or if nobody has, they can be changed, and stay so.
  const std::unique_ptr<Client> taker = *Client::Connect(members_[kCutOff].address());
  for (const std::string& job : jobs) {
    const Result<v1::TuningJob> cancelled = taker->Cancel(job);
    EXPECT_TRUE(cancelled.ok()) << cancelled.status();
    EXPECT_TRUE(Eventually([&] { return IsCancelled(*taker, job); })) << job;
  }
  OnAll(&Cut::heal);
  for (int n = 0; n < kCutOff; ++n) {
    EXPECT_TRUE(Eventually([&] {
      return members_[n].program().err().find("was taken over by another daemon") !=
             std::string::npos;
    })) << kCuts[n].what;
    // It hears of the end of what it had.
    const std::unique_ptr<Client> client = *Client::Connect(members_[n].address());
    EXPECT_TRUE(Eventually([&] { return IsCancelled(*client, jobs[n]); })) << kCuts[n].what;
  }
  audit_->ExpectNothingWrong();
  EXPECT_EQ(audit_->Ends(), kCutOff);
}

}  // namespace
}  // namespace mdh::partition_test
