#include "tests/benchmarks/service/load_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include <chrono>
#include <optional>
#include <utility>

#include "proto/grpc_status.h"

namespace mdh {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct PendingCall {
  std::optional<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
  grpc::ByteBuffer reply;
  grpc::Status status;
};

}  // namespace

grpc::ByteBuffer BytesOf(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

Result<std::unique_ptr<LoadClient>> LoadClient::Connect(const std::string& address, double limit_s,
                                                        const std::string& token) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 20);
  arguments.SetMaxReceiveMessageSize(-1);
  // So that no reply waits for the window of its stream, which else depends on the history of the
  // connection.
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
  std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  const auto limit = std::chrono::system_clock::now() +
                     std::chrono::milliseconds(static_cast<int64_t>(limit_s * 1e3));
  if (!channel->WaitForConnected(limit)) {
    return absl::UnavailableError("nobody listens on " + address);
  }
  return std::unique_ptr<LoadClient>(
      new LoadClient(std::move(channel), token.empty() ? "" : "Bearer " + token));
}

void LoadClient::Authorize(grpc::ClientContext& context) const {
  if (!authorization_.empty()) context.AddMetadata("authorization", authorization_);
}

Result<std::string> LoadClient::Call(const char* method, const grpc::ByteBuffer& request) {
  const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ClientContext context;
  Authorize(context);
  grpc::ByteBuffer reply;
  MDH_RETURN_IF_ERROR(FromGrpcStatus(
      grpc::internal::BlockingUnaryCall(channel_.get(), rpc, &context, request, &reply)));
  grpc::Slice bytes;
  if (!reply.DumpToSingleSlice(&bytes).ok()) return absl::InternalError("a reply without bytes");
  return std::string(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
}

Result<std::vector<double>> LoadClient::InTurn(const char* method,
                                               absl::Span<const grpc::ByteBuffer> requests,
                                               double duration_s) {
  const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::NORMAL_RPC);
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  do {
    const Clock::time_point start = Clock::now();
    {
      grpc::ClientContext context;
      Authorize(context);
      grpc::ByteBuffer reply;
      MDH_RETURN_IF_ERROR(FromGrpcStatus(grpc::internal::BlockingUnaryCall(
          channel_.get(), rpc, &context, requests[next_++ % requests.size()], &reply)));
    }
    times.push_back(SecondsSince(start));
  } while (SecondsSince(begin) < duration_s);
  return times;
}

Result<double> LoadClient::Rate(const char* method, absl::Span<const grpc::ByteBuffer> requests,
                                int outstanding, double duration_s) {
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel_);
  std::vector<PendingCall> calls(outstanding);
  const auto start_call = [&](PendingCall& call) {
    call.reader.reset();
    call.context.emplace();
    Authorize(*call.context);
    call.reply.Clear();
    call.reader =
        stub.PrepareUnaryCall(&*call.context, method, requests[next_++ % requests.size()], &queue);
    call.reader->StartCall();
    call.reader->Finish(&call.reply, &call.status, &call);
  };
  const Clock::time_point begin = Clock::now();
  for (PendingCall& call : calls) start_call(call);
  int pending = outstanding;
  int64_t done = 0;
  double end_s = 0;
  Status error;
  while (pending > 0) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    PendingCall& call = *static_cast<PendingCall*>(tag);
    error.Update(FromGrpcStatus(call.status));
    const double now_s = SecondsSince(begin);
    if (now_s < duration_s && error.ok()) {
      ++done;
      end_s = now_s;
      start_call(call);
    } else {
      --pending;
    }
  }
  queue.Shutdown();
  MDH_RETURN_IF_ERROR(error);
  return static_cast<double>(done) / end_s;
}

}  // namespace mdh
