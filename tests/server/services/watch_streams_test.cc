#include "server/services/watch_streams.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mdh/v1/kernel.grpc.pb.h"
#include "mdh/v1/tuning.grpc.pb.h"
#include "tests/server/service_fixture.h"

namespace mdh::watch_streams_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Le;

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// A client that follows the changes of kernels.
class Follower {
 public:
  explicit Follower(v1::KernelService::Stub& stub)
      : reader_(stub.WatchKernels(&context_, v1::WatchKernelsRequest())) {}
  ~Follower() {
    if (!has_ended_) Leave();
  }
  // False at the end.
  bool Read() { return reader_->Read(&response_); }
  const v1::WatchKernelsResponse& response() const { return response_; }
  void Leave() {
    context_.TryCancel();
    while (Read()) continue;
    End();
  }
  grpc::Status End() {
    has_ended_ = true;
    return reader_->Finish();
  }

 private:
  grpc::ClientContext context_;
  v1::WatchKernelsResponse response_;
  const std::unique_ptr<grpc::ClientReader<v1::WatchKernelsResponse>> reader_;
  bool has_ended_ = false;
};

class WatchStreamsTest : public ServiceTest {
 protected:
  static size_t Threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  }
  static bool Becomes(const WatchStreams& streams, size_t size) {
    for (int n = 0; n < 500 && streams.size() != size; ++n) absl::SleepFor(absl::Milliseconds(10));
    return streams.size() == size;
  }
  static bool BecomesEmpty(const WatchStreams& streams) { return Becomes(streams, 0); }
};

TEST_F(WatchStreamsTest, AThousandClientsFollowWithoutAThreadEach) {
  constexpr int kFollowers = 1'000;
  std::vector<std::unique_ptr<v1::KernelService::Stub>> stubs;
  for (int n = 0; n < 8; ++n) stubs.push_back(v1::KernelService::NewStub(ConnectTo(address_)));
  Put(64, 1'000'000);
  const size_t threads_before = Threads();
  std::vector<std::unique_ptr<Follower>> followers;
  for (int n = 0; n < kFollowers; ++n) {
    followers.push_back(std::make_unique<Follower>(*stubs[n % stubs.size()]));
  }
  for (const auto& follower : followers) {
    ASSERT_TRUE(follower->Read());
    EXPECT_EQ(follower->response().changes_size(), 0);
  }
  EXPECT_TRUE(Becomes(watches(), kFollowers)) << watches().size();
  EXPECT_THAT(Threads(), Le(threads_before + 16));  // of gRPC
  Put(64, 900'000);
  for (const auto& follower : followers) {
    ASSERT_TRUE(follower->Read());
    ASSERT_EQ(follower->response().changes_size(), 1);
    EXPECT_EQ(follower->response().changes(0).number(), 2);
  }
  for (int n = 0; n < kFollowers; n += 2) followers[n]->Leave();
  followers.clear();
  EXPECT_TRUE(BecomesEmpty(watches())) << watches().size();
}

TEST_F(WatchStreamsTest, ChangesComeWhenTheyHappen) {
  const auto stub = v1::KernelService::NewStub(ConnectTo(address_));
  Follower follower(*stub);
  ASSERT_TRUE(follower.Read());
  const absl::Time start = absl::Now();
  for (int64_t number = 1; number <= 20; ++number) {
    Put(64, 1'000'000 - number);
    ASSERT_TRUE(follower.Read());
    EXPECT_EQ(follower.response().changes(0).number(), number);
  }
  // Not when streams look by themselves, which they do once a second.
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
}

TEST_F(WatchStreamsTest, WhoDoesNotReadHoldsUpNobodyAndMissesNothing) {
  const auto stub = v1::KernelService::NewStub(ConnectTo(address_));
  Follower slow(*stub);
  ASSERT_TRUE(slow.Read());
  // Records of some thousand bytes each: more than what is under way to a client.
  constexpr int kChanges = 200;
  {
    Follower quick(*stub);
    ASSERT_TRUE(quick.Read());
    for (int number = 1; number <= kChanges; ++number) {
      Put(64, 1'000'000 - number);
      ASSERT_TRUE(quick.Read());
      EXPECT_EQ(quick.response().changes(0).number(), number);
    }
  }
  int64_t last = 0;
  while (last < kChanges) {
    ASSERT_TRUE(slow.Read());
    for (const v1::KernelChange& change : slow.response().changes()) {
      EXPECT_EQ(change.number(), ++last);
    }
  }
}

TEST_F(WatchStreamsTest, ManyFollowOneJobToItsEnd) {
  const Result<v1::CreateTuningJobResponse> created =
      client_->CreateJob(MatMulExpression(64, 64, 64), {});
  ASSERT_TRUE(created.ok()) << created.status();
  const auto stub = v1::TuningService::NewStub(ConnectTo(address_));
  v1::WatchTuningJobRequest request;
  request.set_name(created->job().name());
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchTuningJobResponse>> reader;
  };
  std::vector<Call> calls(100);
  for (Call& call : calls) {
    call.reader = stub->WatchTuningJob(&call.context, request);
    v1::WatchTuningJobResponse first;
    ASSERT_TRUE(call.reader->Read(&first));
    EXPECT_EQ(first.progress().sequence(), 1);
  }
  tune_.Release();
  for (Call& call : calls) {
    v1::WatchTuningJobResponse step;
    int64_t sequence = 1;
    while (call.reader->Read(&step)) EXPECT_EQ(step.progress().sequence(), ++sequence);
    EXPECT_EQ(step.progress().state(), v1::TUNING_JOB_STATE_SUCCEEDED);
    EXPECT_TRUE(call.reader->Finish().ok());
  }
  EXPECT_TRUE(BecomesEmpty(watches()));
}

TEST_F(WatchStreamsTest, WhoAsksForNonsenseIsToldSo) {
  const auto stub = v1::TuningService::NewStub(ConnectTo(address_));
  for (const auto& [name, code] : {std::pair("nonsense", grpc::StatusCode::INVALID_ARGUMENT),
                                   std::pair("tuningJobs/77", grpc::StatusCode::NOT_FOUND)}) {
    grpc::ClientContext context;
    v1::WatchTuningJobRequest request;
    request.set_name(name);
    v1::WatchTuningJobResponse step;
    const auto reader = stub->WatchTuningJob(&context, request);
    EXPECT_FALSE(reader->Read(&step));
    EXPECT_EQ(reader->Finish().error_code(), code) << name;
  }
}

TEST_F(WatchStreamsTest, StreamsEndWhenTheServerStops) {
  const auto stub = v1::KernelService::NewStub(ConnectTo(address_));
  Follower follower(*stub);
  ASSERT_TRUE(follower.Read());
  watches().Stop();
  EXPECT_FALSE(follower.Read());
  EXPECT_EQ(follower.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  Follower late(*stub);
  EXPECT_FALSE(late.Read());
  EXPECT_EQ(late.End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(WatchStreamsTest, WhoIsOneTooManyIsRefused) {
  const std::string address = "unix:" + directory_.File("other");
  KernelServiceImpl service(*finder_, *store_, limits_, access_);
  LookupServer lookups(service, *finder_, table_);
  WatchStreams watches(/*max_streams=*/2);
  service.AddTo(watches);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  lookups.AddTo(builder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  EXPECT_TRUE(lookups.Start().ok());
  EXPECT_TRUE(watches.Start(lookups.queue()).ok());
  const auto stub = v1::KernelService::NewStub(ConnectTo(address));
  auto first = std::make_unique<Follower>(*stub);
  Follower second(*stub);
  EXPECT_TRUE(first->Read());
  EXPECT_TRUE(second.Read());
  Follower third(*stub);
  EXPECT_FALSE(third.Read());
  const grpc::Status refused = third.End();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("more than 2 clients"));
  first.reset();
  // There is room again, soon.
  bool is_let_in = false;
  for (int n = 0; n < 100 && !is_let_in; ++n) {
    Follower again(*stub);
    is_let_in = again.Read();
    if (!is_let_in) again.End();
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_TRUE(is_let_in);
  watches.Stop();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  server->Wait();
  watches.Join();
  lookups.Stop();
  watches.Clear();
}

}  // namespace
}  // namespace mdh::watch_streams_test
