// What one client, or many, can hold of the server by their connections.
#include "server/access/connection_limits.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/services/health_service.h"
#include "tests/server/temporary_directory.h"

namespace mdh::connection_limits_test {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// What every client of HTTP/2 sends first: the preface and empty settings.
const std::string kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

class ConnectionLimitsTest : public ::testing::Test {
 protected:
  void Serve(const ConnectionLimits& limits) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    LimitConnections(builder, limits);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~ConnectionLimitsTest() override {
    service_.Stop();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    server_->Wait();
  }

  // A connection of its own.
  std::unique_ptr<Health::Stub> Connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return Health::NewStub(grpc::CreateCustomChannel(
        "unix:" + socket_, grpc::InsecureChannelCredentials(), arguments));
  }
  static grpc::StatusCode Check(Health::Stub& stub, std::chrono::milliseconds deadline) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    HealthCheckResponse response;
    return stub.Check(&context, HealthCheckRequest(), &response).error_code();
  }
  // A call that lasts.
  struct Call {
    explicit Call(Health::Stub& stub) : reader(stub.Watch(&context, HealthCheckRequest())) {}
    ~Call() {
      context.TryCancel();
      HealthCheckResponse response;
      while (reader->Read(&response)) continue;
      reader->Finish();
    }
    // False if it is refused.
    bool Begins() {
      HealthCheckResponse response;
      return reader->Read(&response);
    }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader;
  };
  // A connection that sends this and then nothing more. Gives how long the server keeps it, in
  // milliseconds; -1 if for longer than 10 s.
  int64_t TimeKept(const std::string& sent) const {
    const int silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    socket_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(silent, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(send(silent, sent.data(), sent.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(sent.size()));
    const absl::Time begin = absl::Now();
    int64_t kept_ms = -1;
    while (kept_ms < 0 && absl::Now() - begin < absl::Seconds(10)) {
      pollfd readable = {.fd = silent, .events = POLLIN, .revents = 0};
      char bytes[256];
      const bool has_ended = poll(&readable, 1, 100) > 0 && read(silent, bytes, sizeof bytes) <= 0;
      if (has_ended) kept_ms = absl::ToInt64Milliseconds(absl::Now() - begin);
    }
    close(silent);
    return kept_ms;
  }

  const TemporaryDirectory directory_;
  const std::string socket_ = directory_.File("socket");
  HealthServiceImpl service_{[] { return true; }};
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ConnectionLimitsTest, AConnectionHasOnlySoManyCalls) {
  Serve({.calls_per_connection = 4});
  const std::unique_ptr<Health::Stub> stub = Connect();
  std::vector<std::unique_ptr<Call>> calls;
  for (int n = 0; n < 4; ++n) {
    calls.push_back(std::make_unique<Call>(*stub));
    ASSERT_TRUE(calls.back()->Begins());
  }
  EXPECT_EQ(Check(*stub, std::chrono::milliseconds(300)), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Check(*Connect(), std::chrono::seconds(5)), grpc::StatusCode::OK);
  calls.pop_back();
  EXPECT_EQ(Check(*stub, std::chrono::seconds(5)), grpc::StatusCode::OK);
}

TEST_F(ConnectionLimitsTest, ThereAreOnlySoManyThreadsForCalls) {
  Serve({.call_threads = 12});
  std::vector<std::unique_ptr<Health::Stub>> stubs;
  std::vector<std::unique_ptr<Call>> calls;
  int refused = 0;
  for (int n = 0; n < 20; ++n) {
    stubs.push_back(Connect());
    auto call = std::make_unique<Call>(*stubs.back());
    if (call->Begins()) {
      calls.push_back(std::move(call));
      continue;
    }
    ++refused;
    EXPECT_EQ(Check(*stubs.back(), std::chrono::seconds(5)), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_GE(refused, 20 - 12);
  EXPECT_GE(calls.size(), 4u);
  calls.clear();
  // The threads are given back soon.
  grpc::StatusCode code = grpc::StatusCode::UNKNOWN;
  for (int n = 0; n < 100 && code != grpc::StatusCode::OK; ++n) {
    code = Check(*stubs.back(), std::chrono::seconds(5));
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(code, grpc::StatusCode::OK);
}

// A hundred megabytes of zeros are 100 kB when compressed: nobody inflates them.
TEST_F(ConnectionLimitsTest, CompressedMessagesAreRefusedBeforeTheyAreInflated) {
  Serve({});
  const std::unique_ptr<Health::Stub> stub = Connect();
  HealthCheckRequest request;
  request.set_service(std::string(100 << 20, '\0'));
  rusage before = {};
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    HealthCheckResponse response;
    if (algorithm == GRPC_COMPRESS_DEFLATE) getrusage(RUSAGE_SELF, &before);
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    const grpc::Status status = stub->Check(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr("is disabled"));
  }
  EXPECT_EQ(Check(*stub, std::chrono::seconds(5)), grpc::StatusCode::OK);
  // The second was refused in the memory that the first, with its message, had taken.
  rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 50 << 10) << "kB";
}

TEST_F(ConnectionLimitsTest, WhoDoesNotSayHelloIsNotWaitedFor) {
  Serve({.handshake_ms = 300});
  const int64_t kept_ms = TimeKept("");
  EXPECT_GE(kept_ms, 200);
  EXPECT_LT(kept_ms, 3'000);
}

TEST_F(ConnectionLimitsTest, WhoDoesNotAnswerPingsIsTakenForGone) {
  Serve({.silence_ms = 300, .answer_ms = 200});
  const int64_t kept_ms = TimeKept(kPreface);
  EXPECT_GE(kept_ms, 400);
  EXPECT_LT(kept_ms, 5'000);
  // Who answers stays.
  const std::unique_ptr<Health::Stub> stub = Connect();
  Call call(*stub);
  ASSERT_TRUE(call.Begins());
  absl::SleepFor(absl::Seconds(2));
  EXPECT_EQ(Check(*stub, std::chrono::seconds(5)), grpc::StatusCode::OK);
  service_.Stop();
  EXPECT_TRUE(call.Begins());  // told of the end on the same connection
}

}  // namespace
}  // namespace mdh::connection_limits_test
