#include "server/services/lookup_server.h"

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mdh/v1/kernel.grpc.pb.h"
#include "tests/server/service_fixture.h"

namespace mdh::lookup_server_test {
namespace {

using ::testing::HasSubstr;

class LookupServerTest : public ServiceTest {
 protected:
  // Lookups would find the best so far of a search, some sooner, some later.
  LookupServerTest() { tune_.reports_its_trial = false; }

  std::unique_ptr<v1::KernelService::Stub> Stub() const {
    return v1::KernelService::NewStub(
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  }
  static v1::LookupKernelRequest ByText(int64_t size) {
    v1::LookupKernelRequest request;
    request.mutable_expression()->mutable_text()->set_text(
        "m<T = fp32 | I = 64> := out_view<T>( C: (i,j,k) -> (i,j) ) o md_hom<I,I,I>( f, (++, ++, "
        "+) )"
        " o inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )"
        " where f(A, B) -> C { C = A * B }");
    (*request.mutable_expression()->mutable_text()->mutable_bindings())["I"] = std::to_string(size);
    return request;
  }
  grpc::Status Lookup(const v1::LookupKernelRequest& request, v1::LookupKernelResponse* response) {
    grpc::ClientContext context;
    return Stub()->LookupKernel(&context, request, response);
  }
  v1::LookupStatistics Statistics() const { return lookups_->metrics().Read(); }
};

TEST_F(LookupServerTest, AnExpressionIsParsedOnceAndThenKnownByItsBytes) {
  Put(64, 1'000'000);
  for (int call = 0; call < 3; ++call) {
    v1::LookupKernelResponse response;
    const grpc::Status status = Lookup(ByText(64), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.record().time_ns(), 1'000'000);
  }
  // What was known is no more when a record changes.
  Put(64, 500'000);
  v1::LookupKernelResponse response;
  ASSERT_TRUE(Lookup(ByText(64), &response).ok());
  EXPECT_EQ(response.record().time_ns(), 500'000);
  EXPECT_EQ(Lookup(ByText(32), &response).error_code(), grpc::StatusCode::NOT_FOUND);
  Put(32, 700'000);
  ASSERT_TRUE(Lookup(ByText(32), &response).ok());
  EXPECT_EQ(response.record().time_ns(), 700'000);
}

TEST_F(LookupServerTest, ABatchHasAnAnswerOrAStatusForEach) {
  Put(64, 1'000'000);
  v1::BatchLookupKernelsRequest batch;
  *batch.add_requests() = ByText(64);
  *batch.add_requests()->mutable_key() = Client::KeyOf(MatMulExpression(64, 64, 64));
  *batch.add_requests()->mutable_key() = Client::KeyOf(MatMulExpression(8, 8, 8));
  batch.add_requests();
  for (int call = 0; call < 2; ++call) {
    grpc::ClientContext context;
    v1::BatchLookupKernelsResponse response;
    const grpc::Status status = Stub()->BatchLookupKernels(&context, batch, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.results_size(), 4);
    EXPECT_EQ(response.results(0).response().record().time_ns(), 1'000'000);
    EXPECT_EQ(response.results(1).response().record().time_ns(), 1'000'000);
    EXPECT_EQ(response.results(2).error().code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(response.results(3).error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  grpc::ClientContext context;
  v1::BatchLookupKernelsResponse none;
  EXPECT_TRUE(Stub()->BatchLookupKernels(&context, {}, &none).ok());
  EXPECT_EQ(none.results_size(), 0);
  for (int n = 0; n < kMaxBatchLookups; ++n) batch.add_requests();
  grpc::ClientContext too_many;
  const grpc::Status refused = Stub()->BatchLookupKernels(&too_many, batch, &none);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("at most 1000"));
}

TEST_F(LookupServerTest, OutcomesAndTimesAreCounted) {
  Put(64, 1'000'000);
  EXPECT_TRUE(client_->Lookup(MatMulExpression(64, 64, 64)).ok());
  EXPECT_FALSE(client_->Lookup(MatMulExpression(8, 8, 8)).ok());
  EXPECT_FALSE(client_->Lookup(v1::KernelKey()).ok());
  const v1::LookupStatistics statistics = Statistics();
  EXPECT_EQ(statistics.found(), 1);
  EXPECT_EQ(statistics.missed(), 1);
  EXPECT_EQ(statistics.invalid(), 1);
  int64_t calls = 0;
  for (const v1::LatencyBucket& bucket : statistics.latencies()) calls += bucket.calls();
  EXPECT_EQ(calls, 3);
}

// A server of its own beside that of the fixture.
class OtherLookups {
 public:
  OtherLookups(const std::string& address, const KernelFinder& finder, const LookupTable& table,
               Store& store, LookupServerOptions options)
      : service_(finder, store, {}, access_),
        lookups_(service_, finder, table, std::move(options)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    lookups_.AddTo(builder);
    server_ = builder.BuildAndStart();
    EXPECT_TRUE(lookups_.Start().ok());
    stub_ = v1::KernelService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  ~OtherLookups() {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    server_->Wait();
    lookups_.Stop();
  }
  grpc::Status Lookup(const v1::LookupKernelRequest& request) {
    grpc::ClientContext context;
    v1::LookupKernelResponse response;
    return stub_->LookupKernel(&context, request, &response);
  }
  const LookupMetrics& metrics() const { return lookups_.metrics(); }

 private:
  const AccessControl access_{AccessOptions()};
  KernelServiceImpl service_;
  LookupServer lookups_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::KernelService::Stub> stub_;
};

TEST_F(LookupServerTest, WhoIsNotAdmittedIsRefused) {
  Put(64, 1'000'000);
  bool is_open = false;
  std::string asked;
  LookupServerOptions options;
  options.admit = [&](const grpc::ServerContextBase&, std::string_view method) -> Status {
    asked = method;
    return is_open ? absl::OkStatus() : absl::PermissionDeniedError("not you");
  };
  OtherLookups other("unix:" + directory_.File("other"), *finder_, table_, *store_, options);
  const grpc::Status refused = other.Lookup(ByText(64));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused.error_message(), "not you");
  EXPECT_EQ(asked, "/mdh.v1.KernelService/LookupKernel");
  EXPECT_EQ(other.metrics().Read().refused(), 1);
  is_open = true;
  EXPECT_TRUE(other.Lookup(ByText(64)).ok());
}

TEST_F(LookupServerTest, AMissStartsTuningAndAnswersAtOnce) {
  v1::LookupKernelRequest request = ByText(64);
  request.mutable_tune_in_background()->mutable_options()->set_budget_ns(1'000'000'000);
  for (int call = 0; call < 2; ++call) {
    v1::LookupKernelResponse response;
    const grpc::Status status = Lookup(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.match(), v1::MATCH_KIND_PREDICTED);
    EXPECT_EQ(response.provenance(), v1::KERNEL_PROVENANCE_RULES);
    EXPECT_EQ(response.record().time_ns(), 0);
    EXPECT_THAT(response.kernel().source(), HasSubstr("mdh_m"));
    EXPECT_EQ(response.tuning_job(), "tuningJobs/1");  // the second joins it
  }
  EXPECT_EQ(client_->GetJob("tuningJobs/1")->job().options().budget_ns(), 1'000'000'000);
  FinishJob("tuningJobs/1");
  for (int call = 0; call < 2; ++call) {
    v1::LookupKernelResponse response;
    ASSERT_TRUE(Lookup(request, &response).ok());
    EXPECT_EQ(response.match(), v1::MATCH_KIND_EXACT);
    EXPECT_EQ(response.provenance(), v1::KERNEL_PROVENANCE_MEASURED);
    EXPECT_FALSE(response.has_kernel());
    EXPECT_EQ(response.tuning_job(), "");
  }
  // What is forgotten is tuned again.
  ASSERT_TRUE(store_->RemoveResult(store_->AllRecords()->at(0).name().substr(8)).ok());
  v1::LookupKernelResponse response;
  ASSERT_TRUE(Lookup(request, &response).ok());
  EXPECT_EQ(response.tuning_job(), "tuningJobs/2");
}

TEST_F(LookupServerTest, AClientLooksUpAndTunesInOneCall) {
  const Expression wanted = MatMulExpression(64, 64, 64);
  const Result<v1::LookupKernelResponse> first =
      client_->LookupAndTune(wanted, {.budget_ns = 2'000'000'000, .priority = 3});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->match(), v1::MATCH_KIND_PREDICTED);
  EXPECT_EQ(first->provenance(), v1::KERNEL_PROVENANCE_RULES);
  EXPECT_THAT(first->kernel().source(), HasSubstr("mdh_matmul"));
  EXPECT_EQ(first->tuning_job(), "tuningJobs/1");
  const v1::TuningJob job = client_->GetJob("tuningJobs/1")->job();
  EXPECT_EQ(job.options().budget_ns(), 2'000'000'000);
  EXPECT_EQ(job.priority(), 3);
  FinishJob("tuningJobs/1");
  const Result<v1::LookupKernelResponse> then = client_->LookupAndTune(wanted, {});
  ASSERT_TRUE(then.ok()) << then.status();
  EXPECT_EQ(then->match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(then->tuning_job(), "");
}

TEST_F(LookupServerTest, AClientLooksUpThoughTuningIsRefused) {
  const Result<v1::LookupKernelResponse> found = client_->LookupAndTune(
      MatMulExpression(64, 64, 64), {.budget_ns = -1}, {}, v1::NUMERICS_POLICY_EXACT_ORDER);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->record().key().numerics_policy(), v1::NUMERICS_POLICY_EXACT_ORDER);
  EXPECT_EQ(found->tuning_error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(found->tuning_job(), "");
  v1::DeviceSelection nobody;
  nobody.set_name("devices/nobody");
  EXPECT_EQ(client_->LookupAndTune(MatMulExpression(64, 64, 64), {}, nobody).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(LookupServerTest, PoliciesAboutProductsNeedSome) {
  const Status of_doubles = client_
                                ->LookupAndTune(MatMulExpression(64, 64, 64, ScalarType::kFloat64),
                                                {}, {}, v1::NUMERICS_POLICY_BF16X3)
                                .status();
  EXPECT_EQ(FieldOf(of_doubles), "numerics_policy");
  EXPECT_THAT(std::string(of_doubles.message()),
              HasSubstr("numerics=bf16x3 is about products of fp32"));
  // A device without such units computes them as they are, but tunes nothing for that.
  const Result<v1::LookupKernelResponse> found =
      client_->LookupAndTune(MatMulExpression(64, 64, 64), {}, {}, v1::NUMERICS_POLICY_BF16X3);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->record().key().numerics_policy(), v1::NUMERICS_POLICY_BF16X3);
  EXPECT_THAT(found->tuning_error().message(), HasSubstr("has no matrix unit for bf16"));
}

TEST_F(LookupServerTest, ABatchTunesWhatItMissesFromWhatIsNear) {
  const std::string near = Put(64, 1'000'000).name();
  v1::BatchLookupKernelsRequest batch;
  *batch.add_requests() = ByText(64);
  *batch.add_requests() = ByText(96);
  for (v1::LookupKernelRequest& one : *batch.mutable_requests()) one.mutable_tune_in_background();
  *batch.add_requests()->mutable_key() = Client::KeyOf(MatMulExpression(8, 8, 8));
  batch.mutable_requests(2)->mutable_tune_in_background();
  grpc::ClientContext context;
  v1::BatchLookupKernelsResponse response;
  ASSERT_TRUE(Stub()->BatchLookupKernels(&context, batch, &response).ok());
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_EQ(response.results(0).response().match(), v1::MATCH_KIND_EXACT);
  EXPECT_EQ(response.results(0).response().tuning_job(), "");
  const v1::LookupKernelResponse& made = response.results(1).response();
  EXPECT_EQ(made.provenance(), v1::KERNEL_PROVENANCE_REPAIRED);
  EXPECT_EQ(made.made_from(), near);
  EXPECT_GT(made.distance(), 0);
  ASSERT_EQ(made.differences_size(), 1);
  EXPECT_EQ(made.differences(0).field(), v1::KEY_FIELD_SIZES);
  EXPECT_EQ(made.tuning_job(), "tuningJobs/1");
  // A digest says too little.
  EXPECT_EQ(response.results(2).error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(response.results(2).error().message(), HasSubstr("expression"));
}

TEST_F(LookupServerTest, AnAnswerComesAlsoIfTuningIsRefused) {
  v1::LookupKernelRequest request = ByText(64);
  request.mutable_tune_in_background()->mutable_options()->set_budget_ns(-1);
  v1::LookupKernelResponse response;
  ASSERT_TRUE(Lookup(request, &response).ok());
  EXPECT_THAT(response.kernel().source(), HasSubstr("mdh_m"));
  EXPECT_EQ(response.tuning_job(), "");
  EXPECT_EQ(response.tuning_error().code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(LookupServerTest, TooManyExpressionsAreRefusedAndKeysAreNot) {
  Put(64, 1'000'000);
  LookupServerOptions options;
  options.max_waiting = 0;
  OtherLookups other("unix:" + directory_.File("other"), *finder_, table_, *store_, options);
  EXPECT_EQ(other.Lookup(ByText(64)).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(other.metrics().Read().overloaded(), 1);
  v1::LookupKernelRequest by_key;
  *by_key.mutable_key() = Client::KeyOf(MatMulExpression(64, 64, 64));
  EXPECT_TRUE(other.Lookup(by_key).ok());
}

TEST_F(LookupServerTest, ItStopsWithCallsInFlight) {
  Put(64, 1'000'000);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> callers;
    {
      OtherLookups other("unix:" + directory_.File("other"), *finder_, table_, *store_, {});
      for (int n = 0; n < 4; ++n) {
        callers.emplace_back(
            [&, n,
             stub = v1::KernelService::NewStub(grpc::CreateChannel(
                 "unix:" + directory_.File("other"), grpc::InsecureChannelCredentials()))] {
              bool goes_on = true;
              for (int64_t call = 0; goes_on; ++call) {
                grpc::ClientContext context;
                v1::LookupKernelResponse response;
                const grpc::Status status =
                    stub->LookupKernel(&context, ByText(n % 2 == 0 ? 64 : call + 1), &response);
                goes_on = status.ok() || status.error_code() == grpc::StatusCode::NOT_FOUND;
              }
            });
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    for (std::thread& caller : callers) caller.join();
  }
}

TEST_F(LookupServerTest, ItNeedNotBeStarted) {
  KernelServiceImpl service(*finder_, *store_, limits_, access_);
  LookupServer never_added(service, *finder_, table_);
  LookupServer never_started(service, *finder_, table_);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + directory_.File("other"), grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  never_started.AddTo(builder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  server->Shutdown(std::chrono::system_clock::now());
  never_started.Stop();
}

}  // namespace
}  // namespace mdh::lookup_server_test
