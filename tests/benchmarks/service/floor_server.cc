#include "tests/benchmarks/service/floor_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/async_unary_call.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/benchmarks/service/load_client.h"

namespace mdh {
namespace {

// Calls of one method that may be there at once.
constexpr int kSlots = 128;

class RawService final : public grpc::Service {
 public:
  RawService() {
    int index = 0;
    for (const char* method : {kLookupMethod, kBatchMethod}) {
      AddMethod(new grpc::internal::RpcServiceMethod(method, grpc::internal::RpcMethod::NORMAL_RPC,
                                                     nullptr));
      MarkMethodRaw(index++);
    }
  }

  void Request(int method, grpc::ServerContext* context, grpc::ByteBuffer* request,
               grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* responder,
               grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncUnary(method, context, request, responder, queue, queue, tag);
  }
};

class Slot {
 public:
  Slot(RawService& service, int method, grpc::ServerCompletionQueue& queue,
       const grpc::ByteBuffer& reply)
      : service_(service), method_(method), queue_(queue), reply_(reply) {
    Arm();
  }

  void Proceed() {
    if (is_replying_) {
      Arm();
    } else {
      is_replying_ = true;
      responder_->Finish(reply_, grpc::Status::OK, this);
    }
  }

 private:
  void Arm() {
    is_replying_ = false;
    responder_.reset();
    context_.emplace();
    responder_.emplace(&*context_);
    request_.Clear();
    service_.Request(method_, &*context_, &request_, &*responder_, &queue_, this);
  }

  RawService& service_;
  const int method_;
  grpc::ServerCompletionQueue& queue_;
  const grpc::ByteBuffer& reply_;
  bool is_replying_ = false;
  std::optional<grpc::ServerContext> context_;
  grpc::ByteBuffer request_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> responder_;
};

}  // namespace

Status ServeFloor(const FloorOptions& options) {
  RawService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError("cannot listen on " + options.address);
  const std::vector<grpc::ByteBuffer> replies = {BytesOf(std::string(options.lookup_bytes, 'l')),
                                                 BytesOf(std::string(options.batch_bytes, 'b'))};
  std::vector<std::unique_ptr<Slot>> slots;
  for (int n = 0; n < 2 * kSlots; ++n) {
    slots.push_back(std::make_unique<Slot>(service, n % 2, *queue, replies[n % 2]));
  }
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Slot*>(tag)->Proceed();
  return absl::OkStatus();
}

}  // namespace mdh
