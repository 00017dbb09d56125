// What every store does with daemons that announce themselves.
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/records/timestamp.h"
#include "tests/server/store/store_under_test.h"

namespace mdh::node_contract_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class NodeContract : public StoreContract {
 protected:
  static v1::Node Node(const std::string& name, const std::string& device = "devices/cpu") {
    v1::Node node;
    node.set_name(name);
    node.set_server_version("1");
    node.add_devices()->set_name(device);
    return node;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, NodeContract, ::testing::ValuesIn(Engines()), EngineName);

TEST_P(NodeContract, NodesAreListedByNameWithWhatTheySaidLast) {
  EXPECT_THAT(*store_->ListNodes(), IsEmpty());
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/b"), absl::Hours(1)).ok());
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/a"), absl::Hours(1)).ok());
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/b", "devices/cuda0"), absl::Hours(1)).ok());
  Open();  // as another daemon sees it
  const Result<std::vector<v1::Node>> nodes = store_->ListNodes();
  ASSERT_THAT(*nodes, SizeIs(2));
  EXPECT_EQ(nodes->at(0).name(), "nodes/a");
  EXPECT_EQ(nodes->at(1).name(), "nodes/b");
  EXPECT_EQ(nodes->at(1).devices(0).name(), "devices/cuda0");
  EXPECT_FALSE(nodes->at(1).is_gone());
  EXPECT_GE(FromProto(nodes->at(1).seen_time()), begin - absl::Milliseconds(1));
  EXPECT_LE(FromProto(nodes->at(1).seen_time()), absl::Now() + absl::Milliseconds(1));
}

TEST_P(NodeContract, WhoIsNotAnnouncedAgainIsGoneAndComesBack) {
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/a"), absl::Milliseconds(1)).ok());
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_TRUE(store_->ListNodes()->front().is_gone());
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/a"), absl::Hours(1)).ok());
  EXPECT_FALSE(store_->ListNodes()->front().is_gone());
}

TEST_P(NodeContract, WhoIsGoneForADayIsForgotten) {
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/a"), -absl::Hours(23)).ok());
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/b"), -absl::Hours(25)).ok());
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/c"), absl::Hours(1)).ok());
  ASSERT_THAT(*store_->ListNodes(), SizeIs(2));
  EXPECT_EQ(store_->ListNodes()->at(0).name(), "nodes/a");
}

TEST_P(NodeContract, WhoEndsIsNotThereAnyMore) {
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/a"), absl::Hours(1)).ok());
  EXPECT_TRUE(store_->RemoveNode("nodes/a").ok());
  EXPECT_TRUE(store_->RemoveNode("nodes/a").ok());
  EXPECT_THAT(*store_->ListNodes(), IsEmpty());
}

TEST_P(NodeContract, ADamagedNodeDoesNotHideTheOthers) {
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/a"), absl::Hours(1)).ok());
  ASSERT_TRUE(store_->AnnounceNode(Node("nodes/b"), absl::Hours(1)).ok());
  engine_->RunSql("UPDATE nodes SET node = x'ffff' WHERE name = 'nodes/a'");
  ASSERT_THAT(*store_->ListNodes(), SizeIs(1));
  EXPECT_EQ(store_->ListNodes()->front().name(), "nodes/b");
}

// Only what was given up, and what one has oneself.
TEST_P(NodeContract, JobsThatNobodyHasCanBeLeftToOthers) {
  v1::TuningJob job;
  job.set_state(v1::TUNING_JOB_STATE_QUEUED);
  job.mutable_key()->set_device_fingerprint("f");
  ASSERT_TRUE(store_->InsertJob(job).ok());
  ASSERT_TRUE(store_->InsertJob(job, {"gone", absl::ZeroDuration()}).ok());
  ASSERT_TRUE(store_->InsertJob(job, {"me", absl::Hours(1)}).ok());
  const JobLease lease = {"me", absl::Hours(1)};
  const Result<std::vector<ClaimedJob>> claimed =
      store_->ClaimJobs(lease, {.fingerprints = {"f"}, .takes_own = true, .leaves_new = true});
  ASSERT_THAT(*claimed, SizeIs(2));
  EXPECT_EQ(claimed->at(0).claim.number, 3);
  EXPECT_EQ(claimed->at(1).claim.number, 2);
  const Result<std::vector<ClaimedJob>> rest = store_->ClaimJobs(lease, {.fingerprints = {"f"}});
  ASSERT_THAT(*rest, SizeIs(1));
  EXPECT_EQ(rest->front().claim.number, 1);
}

}  // namespace
}  // namespace mdh::node_contract_test
