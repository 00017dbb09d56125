// A leader of several PostgreSQL servers dies under a load, again and again, and another one takes
// its place. By hand, as it takes half a minute each time:
//   MDH_FAILOVERS=20 end_to_end_tests --gtest_filter=FailoverTest.*
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/end_to_end/fleet_load.h"
#include "tests/end_to_end/fleet_member.h"
#include "tests/source_path.h"

namespace mdh::failover_test {
namespace {

constexpr absl::Duration kMostPause = absl::Seconds(25);

class FailoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const wanted = std::getenv("MDH_FAILOVERS");
    if (wanted == nullptr) GTEST_SKIP() << "MDH_FAILOVERS is not set: it takes long";
    failovers_ = std::atoi(wanted);
    const Ended up = Cluster("up");
    ASSERT_EQ(up.code, 0) << up.err;
    const std::string database = up.out.substr(0, up.out.find('\n'));
    std::filesystem::create_directory(directory_.File("daemons"));
    for (int n = 0; n < 2; ++n) {
      members_.emplace_back(directory_.File("daemons"), absl::StrCat("daemon", n),
                            std::vector<std::string>(), database);
      members_[n].Start();
      members_[n].AwaitDevices();
    }
    load_ = std::make_unique<FleetLoad>(
        std::vector<std::string>{members_[0].address(), members_[1].address()});
  }
  void TearDown() override {
    for (FleetMember& member : members_) member.Stop();
    if (failovers_ > 0) Cluster("down");
  }
  // Until writes go on.
  void AwaitPuts() {
    const int64_t puts = load_->counts().puts;
    EXPECT_TRUE(Eventually([&] { return load_->counts().puts > puts + 50; }));
  }
  Ended Cluster(const std::string& action) const {
    std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
    return RunProgram(
        {SourcePath("tests/end_to_end/failover_cluster"), action, directory_.File("cluster")});
  }

  TemporaryDirectory directory_;
  int failovers_ = 0;
  std::vector<FleetMember> members_;
  std::unique_ptr<FleetLoad> load_;
};

TEST_F(FailoverTest, NothingThatWasAcknowledgedIsLostAndLookupsGoOn) {
  std::vector<std::thread> clients;
  for (int own = 0; own < FleetLoad::kPutters; ++own) {
    clients.emplace_back([this, own] { load_->PutRecords(own); });
  }
  clients.emplace_back([this] { load_->CreateJobs(1); });
  clients.emplace_back([this] { load_->LookUp(2); });
  std::vector<double> pauses_s;
  AwaitPuts();
  for (int n = 0; n < failovers_ && !HasFailure(); ++n) {
    load_->TakeLongestPause();
    const Ended failed = Cluster("fail");
    EXPECT_EQ(failed.code, 0) << failed.err;
    AwaitPuts();
    const absl::Duration pause = load_->TakeLongestPause();
    EXPECT_LE(pause, kMostPause);
    pauses_s.push_back(absl::ToDoubleSeconds(pause));
    std::printf("%d: the leader was %s, puts=%ld lookups=%ld, no put for %.1f s\n", n + 1,
                failed.out.substr(0, failed.out.find('\n')).c_str(), load_->counts().puts.load(),
                load_->counts().lookups.load(), pauses_s.back());
    std::fflush(stdout);
  }
  load_->Stop();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(load_->counts().failed_lookups, 0);
  for (const FleetMember& member : members_) {
    const std::unique_ptr<Client> client = *Client::Connect(member.address());
    for (int own = 0; own < FleetLoad::kPutters; ++own) {
      for (const auto& [size, known] : load_->records(own)) ExpectRecord(*client, size, known);
    }
    for (const auto& [request_id, name] : load_->jobs()) {
      EXPECT_TRUE(client->GetJob(name).ok()) << name;
    }
  }
  std::printf("acknowledged: %ld; lookups: %ld, failed: %ld\n", load_->counts().Acknowledgements(),
              load_->counts().lookups.load(), load_->counts().failed_lookups.load());
  std::sort(pauses_s.begin(), pauses_s.end());
  if (pauses_s.empty()) return;
  std::printf("no puts for %.1f s (median), %.1f s at most\n", pauses_s[pauses_s.size() / 2],
              pauses_s.back());
}

}  // namespace
}  // namespace mdh::failover_test
