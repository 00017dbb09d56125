// Any bytes as a request of any method, over a connection: it is answered in time, and what is
// wrong with it is said; nothing that a client can send is an internal error.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "core/base/sha256.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/request.h"
#include "tests/server/service_fixture.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace mdh {
namespace {

constexpr std::chrono::seconds kPatience(5);
// With a request that was not answered in time: perhaps only the machine was too busy.
constexpr std::chrono::seconds kSecondPatience(50);
// Then everything starts anew, so that a run does not depend on all that came before.
constexpr int kCallsOfAServer = 2'000;
constexpr int kMostReplies = 4;

// The services over a store and fake devices, whose searches end at once.
class Services : public ServiceTest {
 public:
  Services() : channel_(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials())) {}

  // Sends one request and reads some replies.
  grpc::Status Call(const Request& request, std::chrono::seconds patience) {
    tune_.Release();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + patience);
    grpc::GenericStub stub(channel_);
    const auto call = stub.PrepareCall(&context, PathOf(*request.method), &queue_of_calls_);
    const grpc::Slice slice(request.bytes.data(), request.bytes.size());
    call->StartCall(this);
    if (Wait()) {
      call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, this);
      Wait();
    }
    grpc::ByteBuffer reply;
    for (int n = 0; n < kMostReplies; ++n) {
      call->Read(&reply, this);
      if (!Wait()) break;
      // Who follows changes would wait for the next.
      if (request.method->server_streaming()) {
        context.TryCancel();
        break;
      }
    }
    grpc::Status status;
    call->Finish(&status, this);
    Wait();
    return status;
  }

 private:
  void TestBody() override {}
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_of_calls_.Next(&tag, &ok) && ok;
  }

  const std::shared_ptr<grpc::Channel> channel_;
  grpc::CompletionQueue queue_of_calls_;
};

Services& CurrentServices() {
  static std::unique_ptr<Services> services;
  static int calls = 0;
  if (services == nullptr || ++calls % kCallsOfAServer == 0) {
    services.reset();
    services = std::make_unique<Services>();
  }
  return *services;
}

void Check(const Request& request) {
  Services& services = CurrentServices();
  grpc::Status status = services.Call(request, kPatience);
  // Who waits for changes may wait.
  const bool may_wait = request.method->server_streaming();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && !may_wait) {
    status = services.Call(request, kSecondPatience);
  }
  switch (status.error_code()) {
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::DATA_LOSS:
      break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      if (may_wait) return;
      break;
    default:
      return;
  }
  // What is no message at all is refused by gRPC itself.
  if (!MakeRequest(*request.method)
           ->ParseFromArray(request.bytes.data(), static_cast<int>(request.bytes.size()))) {
    return;
  }
  std::fprintf(stderr, "%s: status %d: %s\n", PathOf(*request.method).c_str(),
               static_cast<int>(status.error_code()), status.error_message().c_str());
  std::abort();
}

}  // namespace
}  // namespace mdh

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);
  // What exits first was set up last: jobs that run at the exit still take digests, so the library
  // of these must be there before the services are.
  mdh::Sha256::Of("");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto request = mdh::ToRequest(data, size)) mdh::Check(*request);
  return 0;
}

// Mostly changes of fields; sometimes of the method, or of bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::minstd_rand rng(seed);
  const auto request = mdh::ToRequest(data, size);
  if (!request || rng() % 32 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto message = mdh::MakeRequest(*request->method);
  if (!message->ParseFromArray(request->bytes.data(), static_cast<int>(request->bytes.size()))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (unsigned int n = 0; n <= rng() % 3; ++n) mdh::Mutate(rng(), message.get());
  const size_t mutated = message->ByteSizeLong();
  if (mutated + 1 > max_size) return LLVMFuzzerMutate(data, size, max_size);
  message->SerializePartialToArray(data + 1, static_cast<int>(mutated));
  return mutated + 1;
}
