#include "tests/benchmarks/service/measured_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "core/expression/canonical.h"
#include "server/access/principals.h"
#include "server/store/sqlite/sqlite_store.h"

namespace mdh {
namespace {

constexpr double kStartLimitS = 300;

std::string PathOf(const ServiceCaseOptions& options, const std::string& name) {
  return absl::StrCat(options.directory, "/", name);
}

// gRPC would wait between two attempts.
bool WaitForListener(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(kStartLimitS);
  while (std::chrono::steady_clock::now() < limit) {
    const int socket_number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int failed =
        connect(socket_number, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    close(socket_number);
    if (failed == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

Result<MeasuredServer> StartServer(const ServiceCaseOptions& options, const std::string& name,
                                   std::vector<std::string> words, const std::string& token) {
  MeasuredServer server;
  server.address = "unix:" + PathOf(options, name + ".sock");
  const auto start = std::chrono::steady_clock::now();
  MDH_ASSIGN_OR_RETURN(server.process,
                       ServerProcess::Start(std::move(words), PathOf(options, name + ".log")));
  if (!WaitForListener(PathOf(options, name + ".sock"))) {
    return absl::UnavailableError(name + " does not listen; its log says why");
  }
  server.start_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  MDH_ASSIGN_OR_RETURN(server.client, LoadClient::Connect(server.address, kStartLimitS, token));
  return server;
}

// Writes a file of so many principals, of which one is the load's. Gives its token.
constexpr int kPrincipals = 1'000;
std::string WritePrincipals(const std::string& path) {
  std::ofstream file(path);
  std::string token;
  for (int n = 0; n < kPrincipals; ++n) {
    token = MakeToken();
    file << "token client" << n << " admin " << Sha256Hex(token) << "\n";
  }
  return token;
}

Result<v1::LookupKernelRequest> RequestFor(const RecordGenerator& records, int64_t number) {
  MDH_ASSIGN_OR_RETURN(const Expression expression, records.ExpressionOf(number));
  v1::LookupKernelRequest request;
  *request.mutable_key() = Client::KeyOf(expression);
  return request;
}

}  // namespace

Result<MeasuredServer> StartMdhd(const ServiceCaseOptions& options, const std::string& name) {
  return StartMdhdOn(options, name, PathOf(options, name + ".sqlite"));
}

Result<MeasuredServer> StartMdhdOn(const ServiceCaseOptions& options, const std::string& name,
                                   const std::string& database) {
  const std::string principals = PathOf(options, name + ".principals");
  const std::string token = WritePrincipals(principals);
  return StartServer(options, name,
                     {options.programs + "/mdhd", "--devices", "cpu", "--log-level", "info",
                      "--listen", "unix:" + PathOf(options, name + ".sock"), "--database", database,
                      "--work-directory", PathOf(options, name + ".work"), "--principals-file",
                      principals, "--anonymous-role", "admin"},
                     token);
}

Result<MeasuredServer> StartFloor(const ServiceCaseOptions& options, size_t lookup_bytes,
                                  size_t batch_bytes) {
  return StartServer(
      options, "floor",
      {options.self, "--floor", "unix:" + PathOf(options, "floor.sock"), "--lookup-bytes",
       absl::StrCat(lookup_bytes), "--batch-bytes", absl::StrCat(batch_bytes)},
      "");
}

Status MakeDatabase(const ServiceCaseOptions& options, const std::string& name,
                    const RecordGenerator& records, int64_t count) {
  const std::string path = PathOf(options, name + ".sqlite");
  if (std::filesystem::exists(path)) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenSqliteStore({.path = path}));
  return records.Fill(*store, count);
}

Result<std::vector<grpc::ByteBuffer>> LookupRequests(const RecordGenerator& records,
                                                     const std::vector<int64_t>& numbers) {
  std::vector<grpc::ByteBuffer> requests;
  for (const int64_t number : numbers) {
    MDH_ASSIGN_OR_RETURN(const v1::LookupKernelRequest request, RequestFor(records, number));
    requests.push_back(BytesOf(request.SerializeAsString()));
  }
  return requests;
}

Result<grpc::ByteBuffer> BatchRequest(const RecordGenerator& records,
                                      const std::vector<int64_t>& numbers) {
  v1::BatchLookupKernelsRequest batch;
  for (const int64_t number : numbers) {
    MDH_ASSIGN_OR_RETURN(*batch.add_requests(), RequestFor(records, number));
  }
  return BytesOf(batch.SerializeAsString());
}

std::vector<int64_t> SpreadNumbers(int64_t count, int wanted) {
  std::vector<int64_t> numbers;
  // A prime: neighbours are far from each other.
  for (int64_t n = 0; n < wanted; ++n) numbers.push_back(n * 7'919 % count);
  return numbers;
}

}  // namespace mdh
