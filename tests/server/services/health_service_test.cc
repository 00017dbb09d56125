#include "server/services/health_service.h"

#include <atomic>
#include <memory>

#include "gtest/gtest.h"
#include "tests/server/temporary_directory.h"

namespace mdh::health_service_test {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class HealthServiceTest : public ::testing::Test {
 protected:
  HealthServiceTest() {
    const std::string address = "unix:" + directory_.File("socket");
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = Health::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  grpc::Status Check(const std::string& name, HealthCheckResponse& response) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(name);
    return stub_->Check(&context, request, &response);
  }

  TemporaryDirectory directory_;
  std::atomic<bool> can_write_ = true;
  std::atomic<bool> is_fresh_ = true;
  HealthServiceImpl service_{[this] { return can_write_.load(); },
                             [this] { return is_fresh_.load(); }};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Health::Stub> stub_;
};

TEST_F(HealthServiceTest, TheDaemonServesUntilItStops) {
  HealthCheckResponse response;
  ASSERT_TRUE(Check("", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("another", response).error_code(), grpc::StatusCode::NOT_FOUND);
  service_.Stop();
  ASSERT_TRUE(Check("", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthServiceTest, ServicesThatWriteServeNobodyWhileNothingCanBeWritten) {
  HealthCheckResponse response;
  ASSERT_TRUE(Check("mdh.v1.TuningService", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("mdh.v1.StudyService");
  const auto reader = stub_->Watch(&context, request);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  can_write_ = false;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  ASSERT_TRUE(Check("mdh.v1.TuningService", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  for (const char* name : {"", "mdh.v1.KernelService", "mdh.v1.AdminService"}) {
    ASSERT_TRUE(Check(name, response).ok()) << name;
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << name;
  }
  context.TryCancel();
  reader->Finish();
}

TEST_F(HealthServiceTest, LookupsFromOldMemoryAreNothingToSendClientsTo) {
  is_fresh_ = false;
  HealthCheckResponse response;
  ASSERT_TRUE(Check("mdh.v1.KernelService", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  for (const char* name : {"", "mdh.v1.TuningService", "mdh.v1.AdminService"}) {
    ASSERT_TRUE(Check(name, response).ok()) << name;
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << name;
  }
  is_fresh_ = true;
  ASSERT_TRUE(Check("mdh.v1.KernelService", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
}

TEST_F(HealthServiceTest, WhoWatchesIsToldOfTheEnd) {
  grpc::ClientContext context;
  grpc::ClientContext of_unknown;
  HealthCheckRequest unknown;
  unknown.set_service("another");
  const auto reader = stub_->Watch(&context, HealthCheckRequest());
  const auto reader_of_unknown = stub_->Watch(&of_unknown, unknown);
  HealthCheckResponse response;
  ASSERT_TRUE(reader_of_unknown->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  of_unknown.TryCancel();
  EXPECT_EQ(reader_of_unknown->Finish().error_code(), grpc::StatusCode::CANCELLED);
  service_.Stop();
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(HealthServiceTest, TooManyWatchersAreRefused) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<HealthCheckResponse>>> readers;
  HealthCheckResponse response;
  bool is_refused = false;
  for (int n = 0; n < 100 && !is_refused; ++n) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub_->Watch(contexts.back().get(), HealthCheckRequest()));
    is_refused = !readers.back()->Read(&response);
  }
  ASSERT_TRUE(is_refused);
  EXPECT_EQ(readers.back()->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  service_.Stop();
}

}  // namespace
}  // namespace mdh::health_service_test
