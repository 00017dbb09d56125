// Lookups at a daemon that does not know yet what another one on the same database has stored.
#include <functional>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mdh/v1/kernel.grpc.pb.h"
#include "proto/pipeline_conversion.h"
#include "server/lookup/replica_state.h"
#include "server/store/change_cursor.h"
#include "tests/server/eventually.h"
#include "tests/server/service_fixture.h"
#include "tests/server/store_double.h"

namespace mdh::replica_test {
namespace {

using ::testing::HasSubstr;

// Beside the daemon of the fixture, which stores at once, a second one with the same records, which
// is told up to which change it knows them.
class ReplicaTest : public ServiceTest {
 protected:
  ReplicaTest() {
    service_.AddTo(watches_of_replica_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(replica_address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    lookups_of_replica_.AddTo(builder);
    replica_server_ = builder.BuildAndStart();
    EXPECT_TRUE(lookups_of_replica_.Start().ok());
    EXPECT_TRUE(watches_of_replica_.Start(lookups_of_replica_.queue()).ok());
    replica_client_ = *Client::Connect(replica_address_);
    stub_ = v1::KernelService::NewStub(
        grpc::CreateChannel(replica_address_, grpc::InsecureChannelCredentials()));
    replica_.Share(0);
  }
  ~ReplicaTest() override { StopReplica(); }
  void StopReplica() {
    if (replica_server_ == nullptr) return;
    watches_of_replica_.Stop();
    replica_server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    replica_server_->Wait();
    watches_of_replica_.Join();
    lookups_of_replica_.Stop();
    watches_of_replica_.Clear();
    replica_server_.reset();
  }

  std::string Cursor(int64_t number) const {
    return ChangeCursor{store_->incarnation(), number}.ToText();
  }
  static v1::LookupKernelRequest ByKey(const std::string& cursor) {
    v1::LookupKernelRequest request;
    *request.mutable_key() = Client::KeyOf(MatMulExpression(64, 64, 64));
    request.set_min_cursor(cursor);
    return request;
  }
  static v1::LookupKernelRequest ByExpression(const std::string& cursor) {
    v1::LookupKernelRequest request;
    *request.mutable_expression() = ToProto(ComputationView(MatMulExpression(64, 64, 64)));
    request.set_min_cursor(cursor);
    return request;
  }
  Status Lookup(const v1::LookupKernelRequest& request) {
    grpc::ClientContext context;
    v1::LookupKernelResponse response;
    return FromGrpcStatus(stub_->LookupKernel(&context, request, &response));
  }
  Status Batch(const std::vector<v1::LookupKernelRequest>& requests,
               v1::BatchLookupKernelsResponse* response) {
    v1::BatchLookupKernelsRequest batch;
    for (const v1::LookupKernelRequest& request : requests) *batch.add_requests() = request;
    grpc::ClientContext context;
    return FromGrpcStatus(stub_->BatchLookupKernels(&context, batch, response));
  }
  Status GetKernel(const std::string& name, const std::string& cursor) {
    v1::GetKernelRequest request;
    request.set_name(name);
    request.set_min_cursor(cursor);
    grpc::ClientContext context;
    v1::GetKernelResponse response;
    return FromGrpcStatus(stub_->GetKernel(&context, request, &response));
  }
  // Again and again while that is not known; on a machine that is busy the second is soon over.
  static Status UntilItIsKnown(const std::function<Status()>& call) {
    Status status = call();
    while (absl::IsAborted(status)) status = call();
    return status;
  }
  // Each in a thread of its own.
  static std::vector<Status> AllOf(const std::vector<std::function<Status()>>& calls,
                                   const std::function<void()>& meanwhile) {
    std::vector<Status> statuses(calls.size());
    std::vector<std::thread> threads;
    for (size_t n = 0; n < calls.size(); ++n) {
      threads.emplace_back([&, n] { statuses[n] = calls[n](); });
    }
    meanwhile();
    for (std::thread& thread : threads) thread.join();
    return statuses;
  }

  StoreDouble replica_{*store_};
  const std::string replica_address_ = "unix:" + directory_.File("replica");
  KernelServiceImpl service_{*finder_, replica_, limits_, access_};
  LookupServer lookups_of_replica_{service_, *finder_, table_, {.worker_threads = 1}};
  WatchStreams watches_of_replica_;
  std::unique_ptr<grpc::Server> replica_server_;
  std::unique_ptr<Client> replica_client_;
  std::unique_ptr<v1::KernelService::Stub> stub_;
};

TEST_F(ReplicaTest, AnswersWaitForTheChangesThatTheyMustKnow) {
  const std::string kernel = "kernels/" + Put(64, 1'000).name().substr(8);
  v1::BatchLookupKernelsResponse batch;
  const auto look_up_all = [&]() -> Status {
    MDH_RETURN_IF_ERROR(Batch({ByKey(""), ByKey(Cursor(1)), ByExpression(Cursor(1))}, &batch));
    return batch.results(2).has_error() ? absl::AbortedError("again") : absl::OkStatus();
  };
  const std::vector<Status> statuses =
      AllOf({[&] { return UntilItIsKnown([&] { return Lookup(ByKey(Cursor(1))); }); },
             [&] { return UntilItIsKnown([&] { return Lookup(ByExpression(Cursor(1))); }); },
             [&] { return UntilItIsKnown([&] { return GetKernel(kernel, Cursor(1)); }); },
             [&] { return UntilItIsKnown(look_up_all); }},
            [&] {
              // Others are answered meanwhile.
              EXPECT_TRUE(Lookup(ByKey("")).ok());
              EXPECT_TRUE(Lookup(ByExpression(Cursor(0))).ok());
              replica_.Share(1);
            });
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(batch.results_size(), 3);
  for (const v1::BatchLookupResult& result : batch.results()) EXPECT_TRUE(result.has_response());
  // From then on at once, also what was asked for with another cursor.
  EXPECT_TRUE(Lookup(ByExpression(Cursor(1))).ok());
  EXPECT_TRUE(Lookup(ByExpression("1")).ok()) << "a number alone is of this incarnation";
}

TEST_F(ReplicaTest, WhatIsNotKnownInTimeIsSaid) {
  const std::string kernel = "kernels/" + Put(64, 1'000).name().substr(8);
  const absl::Time begin = absl::Now();
  v1::BatchLookupKernelsResponse batch;
  const std::vector<Status> statuses = AllOf(
      {[&] { return Lookup(ByKey(Cursor(1))); }, [&] { return Lookup(ByExpression(Cursor(1))); },
       [&] { return GetKernel(kernel, Cursor(1)); }},
      [&] {
        EXPECT_TRUE(Batch({ByKey(""), ByKey(Cursor(1))}, &batch).ok());
      });
  EXPECT_GE(absl::Now() - begin, kPatienceForChanges);
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_EQ(ReasonOf(status), "REPLICA_BEHIND");
    EXPECT_THAT(std::string(status.message()), HasSubstr("up to 0, and not those up to 1 yet"));
    EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status)->metadata().at("latestCursor"), Cursor(0));
    EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(status).has_value());
  }
  ASSERT_EQ(batch.results_size(), 2);
  EXPECT_TRUE(batch.results(0).has_response());
  EXPECT_EQ(batch.results(1).error().code(), static_cast<int>(absl::StatusCode::kAborted));
  EXPECT_TRUE(Lookup(ByKey("")).ok());
}

TEST_F(ReplicaTest, CursorsOfOtherDatabasesAndNonsenseAreRefusedAtOnce) {
  const std::string kernel = "kernels/" + Put(64, 1'000).name().substr(8);
  const std::vector<std::function<Status(const std::string&)>> calls = {
      [&](const std::string& cursor) { return Lookup(ByKey(cursor)); },
      [&](const std::string& cursor) { return Lookup(ByExpression(cursor)); },
      [&](const std::string& cursor) { return GetKernel(kernel, cursor); }};
  for (const auto& call : calls) {
    const Status other = call("0123456789abcdef.1");
    EXPECT_EQ(other.code(), absl::StatusCode::kOutOfRange) << other;
    EXPECT_EQ(ReasonOf(other), "CURSOR_EXPIRED");
    const Status nonsense = call("nonsense");
    EXPECT_EQ(nonsense.code(), absl::StatusCode::kInvalidArgument) << nonsense;
    EXPECT_EQ(FieldOf(nonsense), "min_cursor");
  }
  v1::BatchLookupKernelsResponse batch;
  ASSERT_TRUE(Batch({ByKey("x.1"), ByKey(Cursor(0)), ByExpression("nonsense")}, &batch).ok());
  EXPECT_EQ(batch.results(0).error().code(), static_cast<int>(absl::StatusCode::kOutOfRange));
  EXPECT_TRUE(batch.results(1).has_response());
  EXPECT_EQ(batch.results(2).error().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
}

TEST_F(ReplicaTest, WaitingTakesNoThread) {
  Put(64, 1'000);
  std::vector<std::function<Status()>> calls(100, [&] { return Lookup(ByExpression(Cursor(1))); });
  const std::vector<Status> statuses = AllOf(calls, [&] {
    // One thread parses expressions, and 64 requests may wait for it.
    for (int n = 0; n < 20; ++n) {
      EXPECT_EQ(client_->Lookup(MatMulExpression(8 + n, 8, 8)).status().code(),
                absl::StatusCode::kNotFound);
      EXPECT_TRUE(Lookup(ByExpression("")).ok());
    }
    replica_.Share(1);
  });
  for (const Status& status : statuses) {
    // Whoever came late to a machine that is busy has waited in vain.
    EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
  }
}

TEST_F(ReplicaTest, AServerCanStopWhileAnAnswerWaits) {
  Put(64, 1'000);
  absl::Notification is_over;
  std::thread asking([&] {
    const Status status = Lookup(ByKey(Cursor(1)));
    EXPECT_FALSE(status.ok());
    is_over.Notify();
  });
  StopReplica();
  asking.join();
  EXPECT_TRUE(is_over.HasBeenNotified());
}

TEST_F(ReplicaTest, AClientAsksForWhatAWatchHasToldIt) {
  Put(64, 1'000);
  replica_.Share(1);
  bool has_changes = false;
  ASSERT_TRUE(replica_client_
                  ->WatchKernels(Cursor(0),
                                 [&](const v1::WatchKernelsResponse& response) {
                                   EXPECT_EQ(response.min_cursor(), response.cursor());
                                   has_changes = response.changes_size() > 0;
                                   return !has_changes;
                                 })
                  .ok());
  EXPECT_TRUE(has_changes);
  // As another daemon, which is behind: it waits, and then answers what it can.
  replica_.Share(0);
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(replica_client_->Lookup(MatMulExpression(64, 64, 64)).ok());
  EXPECT_GE(absl::Now() - begin, kPatienceForChanges);
}

TEST_F(ReplicaTest, AClientGoesOnWithADaemonThatCannotKnow) {
  const v1::TuningRecord record = Put(64, 1'000);
  const v1::KernelKey key = Client::KeyOf(MatMulExpression(64, 64, 64));
  for (const std::string& cursor : {Cursor(7), std::string("0123456789abcdef.7")}) {
    replica_client_->MustHaveSeen(cursor);
    EXPECT_TRUE(replica_client_->Lookup(key).ok());
    replica_client_->MustHaveSeen(cursor);
    EXPECT_TRUE(replica_client_->GetKernel(record.name()).ok());
    replica_client_->MustHaveSeen(cursor);
    const auto batch = replica_client_->BatchLookup({key, key});
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (const auto& found : *batch) EXPECT_TRUE(found.ok()) << found.status();
  }
  // What is missing is missing, too.
  replica_client_->MustHaveSeen(Cursor(7));
  EXPECT_EQ(replica_client_->Lookup(MatMulExpression(8, 8, 8)).status().code(),
            absl::StatusCode::kNotFound);
  // Nonsense is the caller's fault.
  replica_client_->MustHaveSeen("nonsense");
  EXPECT_TRUE(replica_client_->Lookup(key).ok()) << "what is no cursor is not sent";
}

TEST_F(ReplicaTest, WritesSayWhatKnowsOfThem) {
  grpc::ClientContext put_context, pin_context, unpin_context, invalidate_context;
  v1::PutKernelRequest put;
  *put.mutable_record() = RecordFor(64, 1'000);
  v1::PutKernelResponse stored;
  ASSERT_TRUE(stub_->PutKernel(&put_context, put, &stored).ok());
  EXPECT_EQ(stored.min_cursor(), Cursor(1));
  v1::PinKernelRequest pin;
  pin.set_name(stored.record().name());
  v1::PinKernelResponse pinned;
  ASSERT_TRUE(stub_->PinKernel(&pin_context, pin, &pinned).ok());
  EXPECT_EQ(pinned.min_cursor(), Cursor(2));
  v1::UnpinKernelRequest unpin;
  unpin.set_name(pin.name());
  v1::UnpinKernelResponse unpinned;
  ASSERT_TRUE(stub_->UnpinKernel(&unpin_context, unpin, &unpinned).ok());
  EXPECT_EQ(unpinned.min_cursor(), Cursor(3));
  v1::InvalidateKernelRequest invalidate;
  invalidate.set_name(pin.name());
  v1::InvalidateKernelResponse invalidated;
  ASSERT_TRUE(stub_->InvalidateKernel(&invalidate_context, invalidate, &invalidated).ok());
  EXPECT_EQ(invalidated.min_cursor(), Cursor(4));
}

// Who has a file sees none of it.
TEST_F(ReplicaTest, ADaemonWithAFileGivesNoCursors) {
  const Result<v1::PutKernelResponse> put = admin_client_->PutKernel(RecordFor(64, 1'000));
  EXPECT_EQ(put->min_cursor(), "");
  const v1::TuningJob job = client_->CreateJob(MatMulExpression(32, 32, 32), {})->job();
  EXPECT_EQ(FinishJob(job.name()).min_cursor(), "");
  bool has_begun = false;
  ASSERT_TRUE(client_
                  ->WatchKernels("",
                                 [&](const v1::WatchKernelsResponse& response) {
                                   EXPECT_EQ(response.min_cursor(), "");
                                   has_begun = true;
                                   return false;
                                 })
                  .ok());
  EXPECT_TRUE(has_begun);
  // One that is asked for is found all the same.
  client_->MustHaveSeen(Cursor(1));
  EXPECT_TRUE(client_->Lookup(MatMulExpression(64, 64, 64)).ok());
}

}  // namespace
}  // namespace mdh::replica_test
