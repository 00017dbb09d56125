// Many clients, and bad ones: idle connections, readers that do not read, clients that disappear.
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "client/admin_client.h"
#include "client/client.h"
#include "gmock/gmock.h"
#include "mdh/v1/kernel.grpc.pb.h"
#include "mdh/v1/tuning.grpc.pb.h"
#include "proto/expression_conversion.h"
#include "tests/end_to_end/daemon_test_fixture.h"
#include "tests/end_to_end/narrow_matmul.h"

namespace mdh::crowd_test {
namespace {

using ::testing::Lt;

// What every client of HTTP/2 sends first: the preface and empty settings.
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

// A sanitizer keeps books on every byte.
#ifdef MDH_SANITIZED
constexpr int64_t kMostBytesOfIdle = 1 << 20;
#else
constexpr int64_t kMostBytesOfIdle = 64 << 10;
#endif

// That the daemon may open or close meanwhile for itself.
constexpr int64_t kFewFiles = 10;

class CrowdTest : public DaemonTest {
 protected:
  void SetUp() override { StartDaemon({"--devices", "cpu"}); }

  // What the daemon holds open, and its threads.
  int64_t Entries(const std::string& folder) const {
    const std::filesystem::path path = absl::StrCat("/proc/", daemon_->pid(), "/", folder);
    return std::distance(std::filesystem::directory_iterator(path), {});
  }
  int64_t OpenFiles() const { return Entries("fd"); }
  int64_t Threads() const { return Entries("task"); }
  int64_t ResidentBytes() const {
    const std::string statm = ReadFile(absl::StrCat("/proc/", daemon_->pid(), "/statm"));
    return std::stoll(statm.substr(statm.find(' '))) * sysconf(_SC_PAGE_SIZE);
  }
  // A connection that has said hello and nothing else; -1 if there are too many.
  int ConnectIdle() const {
    const int idle = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    socket_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (idle >= 0 &&
        connect(idle, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        send(idle, kPreface, sizeof kPreface - 1, MSG_NOSIGNAL) == sizeof kPreface - 1) {
      return idle;
    }
    if (idle >= 0) close(idle);
    return -1;
  }
  // The record that rules give, as if it had been measured.
  v1::TuningRecord Put(AdminClient& admin, int64_t size, int64_t time_ns) {
    const auto client = Client::Connect(address_);
    v1::TuningRecord record =
        (*client)->GetBestKernel(NarrowMatMul(size), {}, v1::MATCH_KIND_PREDICTED)->record();
    record.set_time_ns(time_ns);
    const Result<v1::PutKernelResponse> put = admin.PutKernel(record);
    EXPECT_TRUE(put.ok()) << put.status();
    return put.ok() ? put->record() : v1::TuningRecord();
  }
};

TEST_F(CrowdTest, TenThousandIdleConnectionsCostLittleAndLeaveNothing) {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const int wanted = static_cast<int>(std::min<rlim_t>(10'000, files.rlim_max - 500));
  const std::unique_ptr<Client> client = *Client::Connect(address_);
  const std::unique_ptr<AdminClient> admin = *AdminClient::Connect(address_);
  Put(*admin, 16, 1'000'000);
  const int64_t files_before = OpenFiles(), bytes_before = ResidentBytes();
  std::vector<int> idle;
  for (int n = 0; n < wanted; ++n) {
    idle.push_back(ConnectIdle());
    ASSERT_GE(idle.back(), 0) << "connection " << n << ": " << std::strerror(errno);
  }
  EXPECT_TRUE(Eventually([&] { return OpenFiles() >= files_before + wanted - kFewFiles; }))
      << OpenFiles() << " after " << files_before;
  EXPECT_TRUE(client->Lookup(NarrowMatMul(16)).ok());
  EXPECT_TRUE((*Client::Connect(address_))->Lookup(NarrowMatMul(16)).ok());
  const int64_t bytes_each = (ResidentBytes() - bytes_before) / wanted;
  std::printf("%d idle connections: %lld bytes each\n", wanted, static_cast<long long>(bytes_each));
  EXPECT_THAT(bytes_each, Lt(kMostBytesOfIdle));
  for (const int one : idle) close(one);
  EXPECT_TRUE(Eventually([&] { return OpenFiles() <= files_before + kFewFiles; })) << OpenFiles();
  EXPECT_TRUE(client->Lookup(NarrowMatMul(16)).ok());
}

TEST_F(CrowdTest, AReaderThatDoesNotReadHoldsUpNobody) {
  const std::unique_ptr<AdminClient> admin = *AdminClient::Connect(address_);
  const v1::TuningRecord record = Put(*admin, 16, 1'000'000);
  const int64_t threads_before = Threads(), files_before = OpenFiles();
  {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
    const auto stub = v1::KernelService::NewStub(channel);
    grpc::ClientContext context;
    // Never read.
    const auto stream = stub->WatchKernels(&context, v1::WatchKernelsRequest());
    for (int n = 0; n < 300; ++n) {
      ASSERT_TRUE(admin->Pin(record.name()).ok());
      ASSERT_TRUE(admin->Unpin(record.name()).ok());
    }
    EXPECT_TRUE((*Client::Connect(address_))->Lookup(NarrowMatMul(16)).ok());
    context.TryCancel();
    stream->Finish();
  }
  EXPECT_TRUE(Eventually([&] { return OpenFiles() <= files_before; })) << OpenFiles();
  EXPECT_TRUE(Eventually([&] { return Threads() <= threads_before + 4; })) << Threads();
}

// Clients that are killed while they follow a job, with no chance to say so.
TEST_F(CrowdTest, ClientsThatDisappearLeaveNothing) {
  constexpr int kWatchers = 16;
  const std::string job = Detached(512, "60s");
  ASSERT_FALSE(job.empty());
  const int64_t files_before = OpenFiles();
  std::vector<std::unique_ptr<Program>> watchers;
  for (int n = 0; n < kWatchers; ++n) {
    watchers.push_back(std::make_unique<Program>(MdhWords({"watch", job})));
  }
  EXPECT_TRUE(Eventually([&] { return OpenFiles() >= files_before + kWatchers - kFewFiles; }))
      << OpenFiles();
  const int64_t threads_watched = Threads();
  for (const auto& watcher : watchers) {
    watcher->Signal(SIGKILL);
    watcher->Wait();
  }
  EXPECT_TRUE(Eventually([&] { return OpenFiles() <= files_before + 1; })) << OpenFiles();
  // gRPC's own pool takes another one now and then.
  EXPECT_TRUE(Eventually([&] { return Threads() < threads_watched + 4; })) << Threads();
  EXPECT_EQ(Mdh({"cancel", job}).code, 0);
}

TEST_F(CrowdTest, AThousandEqualRequestsRunOneJob) {
  constexpr int kRequests = 1'000;
  const auto stub =
      v1::TuningService::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  v1::CreateTuningJobRequest request;
  *request.mutable_expression()->mutable_structured() = ToProto(NarrowMatMul(512));
  request.mutable_options()->set_budget_ns(60'000'000'000);
  struct Call {
    grpc::ClientContext context;
    v1::CreateTuningJobResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::CreateTuningJobResponse>> reader;
  };
  std::vector<Call> calls(kRequests);
  grpc::CompletionQueue queue;
  for (Call& call : calls) {
    call.reader = stub->AsyncCreateTuningJob(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  std::set<std::string> names;
  int created = 0;
  for (int n = 0; n < kRequests; ++n) {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    const Call& call = *static_cast<Call*>(tag);
    ASSERT_TRUE(call.status.ok()) << call.status.error_message();
    names.insert(call.response.job().name());
    created += call.response.joined() ? 0 : 1;
  }
  EXPECT_EQ(names.size(), 1u);
  EXPECT_EQ(created, 1);
  EXPECT_EQ(Mdh({"cancel", *names.begin()}).code, 0);
}

}  // namespace
}  // namespace mdh::crowd_test
