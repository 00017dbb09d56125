// The C++ client and a daemon that is slow, stops, or dies.
#include "client/client.h"

#include <fstream>
#include <thread>

#include "client/admin_client.h"
#include "client/lookup_cache.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "tests/end_to_end/daemon_test_fixture.h"

namespace mdh::client_test {
namespace {

Expression MatMulOfSize(int size) {
  const std::string value = std::to_string(size);
  return *ParseExpression(ReadFile(ExpressionPath("matmul.mdh")),
                          {{"I", value}, {"J", value}, {"K", value}});
}

class ClientTest : public DaemonTest {
 protected:
  void SetUp() override { StartDaemon(); }
  void KillDaemon() {
    daemon_->Signal(SIGKILL);
    daemon_->Wait();
    std::filesystem::remove(socket_);
  }
};

TEST_F(ClientTest, AForkedProcessConnectsAnew) {
  const auto client = *Client::Connect(address_);
  EXPECT_TRUE(client->ListJobs(1, "").ok());
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const Status refused = client->ListJobs(1, "").status();
    if (!absl::IsFailedPrecondition(refused)) _exit(1);
    const auto watched = client->Watch("tuningJobs/1", 0, [](const v1::TuningProgress&) {});
    if (!absl::IsFailedPrecondition(watched)) _exit(2);
    const auto own = Client::Connect(address_);
    _exit(own.ok() && (*own)->ListJobs(1, "").ok() ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(client->ListJobs(1, "").ok()) << "its connection is as it was";
}

TEST_F(ClientTest, CallsOfASlowDaemonEndAtTheirLimit) {
  ClientOptions options;
  options.call_limit_ns = 300'000'000;
  const std::unique_ptr<Client> client = *Client::Connect(address_, options);
  const std::unique_ptr<AdminClient> admin = *AdminClient::Connect(address_, options);
  daemon_->Stop();
  const auto begin = std::chrono::steady_clock::now();
  const Expression expression = MatMulOfSize(8);
  const auto expect_limit = [](const absl::Status& status) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  };
  expect_limit(client->Lookup(expression).status());
  expect_limit(client->CreateJob(expression, {}).status());
  expect_limit(client->GetBestKernel(expression, {}, v1::MATCH_KIND_PREDICTED).status());
  expect_limit(admin->GetStatistics().status());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  daemon_->Signal(SIGCONT);
  // Not of the same expression: the daemon may go on to create the job that nobody waited for, and
  // have a record soon. Nor with the short limit, which a busy machine may miss each time.
  const std::unique_ptr<Client> patient = *Client::Connect(address_);
  EXPECT_TRUE(absl::IsNotFound(patient->Lookup(MatMulOfSize(9)).status()));
}

TEST_F(ClientTest, TuneGoesOnWithTheNextDaemon) {
  const std::unique_ptr<Client> client = *Client::Connect(address_);
  std::atomic<int64_t> trials = 0;
  Result<v1::TuningRecord> record = absl::UnknownError("");
  std::thread tuning([&] {
    record = client->Tune(MatMulOfSize(96), {.budget_ns = 2'000'000'000},
                          [&](const v1::TuningProgress& progress) { trials = progress.trials(); });
  });
  EXPECT_TRUE(Eventually([&] { return trials > 0; }));
  KillDaemon();
  StartDaemon();
  tuning.join();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_GT(record->time_ns(), 0);
  EXPECT_FALSE(record->is_provisional());
}

TEST_F(ClientTest, LookupsOfACacheGoOnThroughADaemonThatDies) {
  ASSERT_EQ(Mdh(OnMatMul("tune", 32, kFewTrials)).code, 0);
  const std::unique_ptr<Client> client = *Client::Connect(address_);
  LookupCache cache(*client);
  const v1::KernelKey key = Client::KeyOf(MatMulOfSize(32));
  EXPECT_TRUE(Eventually([&] { return cache.Lookup(key).ok() && cache.counts().hits > 0; }));
  KillDaemon();
  EXPECT_TRUE(cache.Lookup(key).ok());
  const v1::KernelKey unknown = Client::KeyOf(MatMulOfSize(33));
  EXPECT_TRUE(absl::IsUnavailable(cache.Lookup(unknown).status()));
  StartDaemon();
  EXPECT_TRUE(Eventually([&] { return absl::IsNotFound(cache.Lookup(unknown).status()); }));
  EXPECT_TRUE(cache.Lookup(key).ok());
}

}  // namespace
}  // namespace mdh::client_test
