// Three daemons on one PostgreSQL server, all of which are killed at random moments under a mixed
// load: what was acknowledged is there afterwards. MDH_KILLS in the environment is the number of
// kills (default 30).
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "tests/end_to_end/fleet_audit.h"
#include "tests/end_to_end/fleet_load.h"
#include "tests/end_to_end/fleet_member.h"
#include "tests/fresh_seed.h"

namespace mdh::fleet_kill_test {
namespace {

using ::testing::IsEmpty;

constexpr int kDaemons = 3;

int WantedKills() {
  const char* wanted = std::getenv("MDH_KILLS");
  return wanted == nullptr ? 30 : std::atoi(wanted);
}

struct Kills {
  int daemons = 0, servers = 0, backends = 0;
  int refused_starts = 0;  // as the server was killed meanwhile
};

class FleetKillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<PostgresServer>> server = PostgresServer::Start();
    if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status().message();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const std::string database = *server_->NewDatabase();
    audit_ = std::make_unique<FleetAudit>(database);
    std::vector<std::string> addresses;
    for (int n = 0; n < kDaemons; ++n) {
      members_.emplace_back(directory_.path(), absl::StrCat("daemon", n),
                            std::vector<std::string>(), database,
                            std::vector<std::string>{"--max-queued-jobs", "10"});
      addresses.push_back(members_[n].address());
      members_[n].Start();
    }
    for (FleetMember& member : members_) member.AwaitDevices();
    load_ = std::make_unique<FleetLoad>(addresses);
    ASSERT_EQ(audit_->Begin(), absl::OkStatus());
    ASSERT_EQ(load_->BeginToWatch(), absl::OkStatus());
  }
  void TearDown() override {
    for (FleetMember& member : members_) member.Stop();
  }

  void BeginLoad() {
    for (int own = 0; own < FleetLoad::kPutters; ++own) {
      clients_.emplace_back([this, own] { load_->PutRecords(own); });
    }
    for (const uint64_t seed : {11, 12}) {
      clients_.emplace_back([this, seed] { load_->CreateJobs(seed); });
    }
    clients_.emplace_back([this] { load_->StopJobs(13); });
    clients_.emplace_back([this] { load_->WatchRecords(14); });
    clients_.emplace_back([this] { load_->LookUp(15); });
  }
  void EndLoad() {
    load_->Stop();
    for (std::thread& client : clients_) client.join();
  }

  // As often as in the design: most of all daemons.
  void KillOne(std::mt19937_64& random) {
    const uint64_t drawn = random() % 12;
    if (drawn < 9) {
      FleetMember& victim = members_[random() % kDaemons];
      victim.Kill();
      victim.Start();
      ++kills_.daemons;
    } else if (drawn < 11) {
      server_->KillAll();
      // Longer than calls wait, sometimes.
      absl::SleepFor(random() % 8 == 0 ? absl::Seconds(3) : absl::Milliseconds(random() % 500));
      ASSERT_EQ(server_->Resume(), absl::OkStatus());
      ++kills_.servers;
    } else if (server_->KillBackend(random())) {
      ++kills_.backends;
    }
  }

  // Records, as each daemon has them.
  void ExpectRecords(const std::string& address) {
    const std::unique_ptr<Client> client = *Client::Connect(address);
    const std::unique_ptr<AdminClient> admin = *AdminClient::Connect(address);
    const Result<v1::CheckIntegrityResponse> check = admin->CheckIntegrity();
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_THAT(check->problems(), IsEmpty());
    for (int own = 0; own < FleetLoad::kPutters; ++own) {
      for (const auto& [size, known] : load_->records(own)) ExpectRecord(*client, size, known);
    }
  }
  // Each job that was acknowledged is there, and comes to one end.
  void ExpectJobs() {
    const std::unique_ptr<Client> client = *Client::Connect(members_[0].address());
    for (const std::string& name : load_->cancelled()) {
      EXPECT_TRUE(Eventually([&] { return HasEnded(*client, name); })) << name;
    }
    for (const auto& [request_id, name] : load_->jobs()) {
      const Result<v1::GetTuningJobResponse> job = client->GetJob(name);
      ASSERT_TRUE(job.ok()) << name << ": " << job.status();
      EXPECT_EQ(job->job().request_id(), request_id);
      EXPECT_NE(job->job().state(), v1::TUNING_JOB_STATE_FAILED) << job->job().error().message();
    }
    // What is left is asked to end at a daemon that may not have it.
    std::mt19937_64 random(1);
    for (const auto& [request_id, name] : load_->jobs()) {
      if (HasEnded(*client, name)) continue;
      const auto other = *Client::Connect(members_[random() % kDaemons].address());
      EXPECT_TRUE(other->Cancel(name).ok()) << name;
    }
    for (const auto& [request_id, name] : load_->jobs()) {
      EXPECT_TRUE(Eventually([&, &name = name] { return HasEnded(*client, name); })) << name;
    }
  }
  static bool HasEnded(Client& client, const std::string& name) {
    const Result<v1::GetTuningJobResponse> job = client.GetJob(name);
    if (!job.ok()) return false;
    const v1::TuningJobState state = job->job().state();
    return state == v1::TUNING_JOB_STATE_SUCCEEDED || state == v1::TUNING_JOB_STATE_CANCELLED;
  }

  // What a client saw of changes is what there was, and leads to what there is.
  void ExpectWatched() {
    const int64_t latest = audit_->Changes();
    ASSERT_EQ(load_->WatchUntil(latest), absl::OkStatus());
    EXPECT_THAT(load_->watched().faults, IsEmpty());
    EXPECT_EQ(static_cast<int64_t>(load_->watched().changes.size()), latest);
    std::set<std::string> replayed;
    for (const auto& [number, change] : load_->watched().changes) {
      const auto& [kind, record] = change;
      if (kind == v1::KERNEL_CHANGE_KIND_REMOVED) {
        replayed.erase(record);
      } else {
        replayed.insert(record);
      }
    }
    const std::unique_ptr<AdminClient> admin = *AdminClient::Connect(members_[1].address());
    std::set<std::string> stored;
    v1::ListRecordsRequest request;
    do {
      const Result<v1::ListRecordsResponse> page = admin->ListRecords(request);
      ASSERT_TRUE(page.ok()) << page.status();
      for (const v1::TuningRecord& record : page->records()) stored.insert(record.name());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(replayed, stored);
  }

  void PrintCounts() const {
    const LoadCounts& counts = load_->counts();
    std::printf(
        "kills: %d of daemons, %d of the server with all its children, %d of backends;"
        " starts without a server: %d\n"
        "acknowledged: %ld (%ld puts, %ld pins, %ld removals, %ld jobs, %ld joined, %ld stops)\n"
        "calls that failed: %ld; lookups: %ld; changes: %ld; ends of jobs: %ld\n",
        kills_.daemons, kills_.servers, kills_.backends, kills_.refused_starts,
        counts.Acknowledgements(), counts.puts.load(), counts.pins.load(), counts.removals.load(),
        counts.jobs.load(), counts.joined.load(), counts.stops.load(), counts.failures.load(),
        counts.lookups.load(), audit_->Changes(), audit_->Ends());
  }

  TemporaryDirectory directory_;
  std::unique_ptr<PostgresServer> server_;
  std::unique_ptr<FleetAudit> audit_;
  std::vector<FleetMember> members_;
  std::unique_ptr<FleetLoad> load_;
  std::vector<std::thread> clients_;
  Kills kills_;
};

TEST_F(FleetKillTest, NothingThatWasAcknowledgedIsLost) {
  std::mt19937_64 random(FreshSeed());
  std::fflush(stdout);  // servers are forks of this process
  BeginLoad();
  for (int n = 0; n < WantedKills() && !HasFatalFailure(); ++n) {
    absl::SleepFor(absl::Milliseconds(100 + random() % 900));
    for (FleetMember& member : members_) kills_.refused_starts += member.Tend();
    KillOne(random);
  }
  EndLoad();
  for (FleetMember& member : members_) {
    kills_.refused_starts += member.Tend();
    member.AwaitDevices();
  }
  for (const FleetMember& member : members_) ExpectRecords(member.address());
  ExpectJobs();
  ExpectWatched();
  audit_->ExpectNothingWrong();
  PrintCounts();
  const LoadCounts& counts = load_->counts();
  for (const auto* count : {&counts.puts, &counts.pins, &counts.removals, &counts.jobs,
                            &counts.stops, &counts.lookups}) {
    EXPECT_GT(*count, 0);
  }
}

}  // namespace
}  // namespace mdh::fleet_kill_test
