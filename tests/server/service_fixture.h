// The services over a store and fake devices, behind a real server on a Unix socket.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/admin_client.h"
#include "client/client.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"
#include "server/jobs/job_queue.h"
#include "server/lookup/kernel_finder.h"
#include "server/records/kernel_prediction.h"
#include "server/records/lookup_table.h"
#include "server/services/admin_service.h"
#include "server/services/candidate_service.h"
#include "server/services/device_service.h"
#include "server/services/expression_service.h"
#include "server/services/kernel_service.h"
#include "server/services/lookup_server.h"
#include "server/services/study_service.h"
#include "server/services/tuning_service.h"
#include "server/services/watch_streams.h"
#include "server/store/sqlite/sqlite_store.h"
#include "server/studies/study_catalogue.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh {

class ServiceTest : public ::testing::Test {
 protected:
  // `queued_per_source`: jobs of one client that may wait.
  explicit ServiceTest(int queued_per_source = 2) {
    store_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      table_.Apply(kind, record);
      WakeWatches();
    });
    JobQueueOptions options;
    options.max_queued = 4;
    options.max_queued_per_source = queued_per_source;
    options.on_progress = [this] { WakeWatches(); };
    options.tune = std::ref(tune_);
    options.measure_in_turns = std::ref(turns_);
    queue_ = *JobQueue::Start(*store_, table_, catalogue_, std::move(options));
    finder_ = std::make_unique<KernelFinder>(table_, catalogue_, *store_, *queue_, limits_);
    StartServer();
    client_ = *Client::Connect(address_);
    admin_client_ = *AdminClient::Connect(address_);
  }
  ~ServiceTest() override {
    queue_->Drain();
    StopServer(absl::Milliseconds(200));
  }

  // Calls that are open end, after `grace` at the latest.
  void StopServer(absl::Duration grace) {
    if (server_ == nullptr) return;
    watches().Stop();
    server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
    server_->Wait();
    watches().Join();
    lookups_->Stop();
    watches().Clear();
    server_.reset();
  }
  // All services at the same address, over the same store and queue.
  void StartServer() {
    kernels_ = std::make_unique<KernelServiceImpl>(*finder_, *store_, limits_, access_);
    lookups_ = std::make_unique<LookupServer>(
        *kernels_, *finder_, table_,
        LookupServerOptions{
            .admit = [this](const grpc::ServerContextBase& context, std::string_view method) {
              return access_.Admit(context, method);
            }});
    tuning_ =
        std::make_unique<TuningServiceImpl>(*queue_, table_, catalogue_, *store_, limits_, access_);
    admin_ = std::make_unique<AdminServiceImpl>(*store_, lookups_->metrics(), *queue_, limits_,
                                                admin_options_, access_);
    devices_service_ = std::make_unique<DeviceServiceImpl>(catalogue_, *queue_, "test", access_);
    expressions_ = std::make_unique<ExpressionServiceImpl>(limits_, access_);
    candidates_service_ = std::make_unique<CandidateServiceImpl>(candidates_, access_);
    studies_service_ = std::make_unique<StudyServiceImpl>(studies_, *study_store_, access_);
    auto watches = std::make_unique<WatchStreams>();
    kernels_->AddTo(*watches);
    tuning_->AddTo(*watches);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(kernels_.get());
    builder.RegisterService(tuning_.get());
    builder.RegisterService(admin_.get());
    builder.RegisterService(devices_service_.get());
    builder.RegisterService(expressions_.get());
    builder.RegisterService(candidates_service_.get());
    builder.RegisterService(studies_service_.get());
    lookups_->AddTo(builder);
    server_ = builder.BuildAndStart();
    EXPECT_TRUE(lookups_->Start().ok());
    EXPECT_TRUE(watches->Start(lookups_->queue()).ok());
    watches_ = watches.get();
    all_watches_.push_back(std::move(watches));
  }
  WatchStreams& watches() const { return *watches_; }
  // Those of the server that runs, if one does.
  void WakeWatches() {
    if (WatchStreams* const watches = watches_) watches->Wake();
  }

  // A result that could have been measured on the fake CPU.
  v1::TuningRecord RecordFor(int64_t size, int64_t time_ns) const {
    const Expression expression = MatMulExpression(size, size, size);
    const KeyEnvironment environment = KeyEnvironment::Of(FakeCpu());
    const v1::KernelKey key = MakeKernelKey(expression, environment);
    PredictedKernel made = *PredictKernel(expression, FakeCpu(), key, {});
    made.record.set_time_ns(time_ns);
    return made.record;
  }
  v1::TuningRecord Put(int64_t size, int64_t time_ns) {
    const Result<v1::PutKernelResponse> response =
        admin_client_->PutKernel(RecordFor(size, time_ns));
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->record() : v1::TuningRecord();
  }
  // Releases the search and waits for the end of the job.
  v1::TuningJob FinishJob(const std::string& name) {
    tune_.Release();
    EXPECT_TRUE(client_->Watch(name, 0, {}).ok());
    return client_->GetJob(name)->job();
  }
  static std::string ReasonOf(const Status& error) {
    const auto info = DetailOf<google::rpc::ErrorInfo>(error);
    return info.has_value() ? info->reason() : "";
  }
  // The field that a refused request names.
  static std::string FieldOf(const Status& error) {
    const auto bad = DetailOf<google::rpc::BadRequest>(error);
    return bad.has_value() && bad->field_violations_size() == 1 ? bad->field_violations(0).field()
                                                                : "";
  }

  TemporaryDirectory directory_;
  const std::string address_ = "unix:" + directory_.File("socket");
  const ExpressionLimits limits_;
  const AccessControl access_{{.anonymous_local = Role::kAdmin, .anonymous_remote = Role::kAdmin}};
  const AdminOptions admin_options_ = {.version = "test",
                                       .backup_directory = directory_.File("backups"),
                                       .keep_jobs = absl::ZeroDuration(),
                                       .max_queued_jobs = 4,
                                       .now = [this] { return absl::Now() + clock_error_; }};
  absl::Duration clock_error_;
  // Of all servers that ran, since store and queue may wake the last one while the next begins.
  std::vector<std::unique_ptr<WatchStreams>> all_watches_;
  std::atomic<WatchStreams*> watches_ = nullptr;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeTune tune_;
  FakeTurns turns_;
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  FakeDevice& cuda_ = devices_.Add("devices/cuda0", FakeGpu());
  LookupTable table_{KeyEnvironment::Of(cpu_.description), {KeyEnvironment::Of(FakeGpu())}};
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, *store_};
  std::unique_ptr<JobQueue> queue_;
  std::unique_ptr<KernelFinder> finder_;
  std::unique_ptr<KernelServiceImpl> kernels_;
  std::unique_ptr<LookupServer> lookups_;
  std::unique_ptr<TuningServiceImpl> tuning_;
  std::unique_ptr<AdminServiceImpl> admin_;
  const std::unique_ptr<StudyStore> study_store_ = *store_->OpenStudies();
  StudyCatalogue studies_{*study_store_};
  std::unique_ptr<DeviceServiceImpl> devices_service_;
  std::unique_ptr<ExpressionServiceImpl> expressions_;
  Candidates candidates_{table_, catalogue_, limits_};
  std::unique_ptr<CandidateServiceImpl> candidates_service_;
  std::unique_ptr<StudyServiceImpl> studies_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<AdminClient> admin_client_;
};

}  // namespace mdh
