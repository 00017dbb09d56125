// Warm lookups through the client library, interleaved with bare gRPC calls on the same socket:
//   lookup_benchmark TARGET FILE.mdh [NAME=VALUE...]
// The expression is tuned for two seconds first if the daemon does not know it.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "client/client.h"
#include "core/text/parser.h"

namespace mdh {
namespace {

constexpr int kWarmUpCalls = 500;
constexpr int kCalls = 10'000;

// Ends the program with the message of an error.
[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "lookup_benchmark: error: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}

template <typename T>
T OrFail(Result<T> result) {
  if (!result.ok()) Fail(result.status());
  return *std::move(result);
}

Expression Load(const char* file, char** bindings_begin, char** bindings_end) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  Bindings bindings;
  for (char** word = bindings_begin; word != bindings_end; ++word) {
    const std::string binding = *word;
    const size_t equals = std::min(binding.find('='), binding.size());
    bindings[binding.substr(0, equals)] =
        equals < binding.size() ? binding.substr(equals + 1) : std::string();
  }
  return OrFail(ParseExpression(text, bindings, file));
}

// The least that a unary call costs: gRPC's own health service, without parsing on either side.
void CheckHealth(grpc::Channel& channel) {
  const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check",
                                         grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ClientContext context;
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  const grpc::Status status =
      grpc::internal::BlockingUnaryCall(&channel, method, &context, request, &response);
  if (!status.ok()) Fail(absl::InternalError(status.error_message()));
}

template <typename Call>
double Microseconds(Call call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

double Percentile(std::vector<double> times, double share) {
  const auto nth =
      times.begin() + static_cast<int64_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), nth, times.end());
  return *nth;
}

void Print(const char* what, const std::vector<double>& times) {
  std::printf("%-24s p50 %7.1f us   p99 %7.1f us\n", what, Percentile(times, 0.5),
              Percentile(times, 0.99));
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: lookup_benchmark TARGET FILE.mdh [NAME=VALUE...]\n");
    return 2;
  }
  const Expression expression = Load(argv[2], argv + 3, argv + argc);
  const std::unique_ptr<Client> client = OrFail(Client::Connect(argv[1]));
  OrFail(client->Tune(expression, {.budget_ns = 2'000'000'000}));
  const auto channel = grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials());
  const v1::KernelKey key = Client::KeyOf(expression);

  std::vector<double> bare;
  std::vector<double> with_key;
  std::vector<double> with_expression;
  for (int call = -kWarmUpCalls; call < kCalls; ++call) {
    const double times[] = {Microseconds([&] { CheckHealth(*channel); }),
                            Microseconds([&] { OrFail(client->Lookup(key)); }),
                            Microseconds([&] { OrFail(client->Lookup(expression)); })};
    if (call < 0) continue;
    bare.push_back(times[0]);
    with_key.push_back(times[1]);
    with_expression.push_back(times[2]);
  }
  Print("bare call", bare);
  Print("lookup, key kept", with_key);
  Print("lookup of an expression", with_expression);
  return 0;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Main(argc, argv); }
