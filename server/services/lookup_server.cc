#include "server/services/lookup_server.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "core/base/exhaustion.h"
#include "core/base/start_thread.h"
#include "proto/error_details.h"
#include "proto/grpc_status.h"
#include "server/lookup/queue_event.h"

namespace mdh {

namespace {

// Between two looks whether changes that an answer waits for are known: first and last.
constexpr absl::Duration kFirstLook = absl::Milliseconds(1), kLastLook = absl::Milliseconds(10);

}  // namespace

// One call at a time of one method, again and again.
class LookupServer::Slot final : public QueueEvent {
 public:
  Slot(LookupServer& server, LookupMethod method) : server_(server), method_(method) {}

  // Waits for the next call. By the queue's thread, as Proceed.
  void Arm();
  // What was started has ended.
  void Proceed(bool is_ok) override;

 private:
  void* tag() { return static_cast<QueueEvent*>(this); }
  // What the next event is about.
  enum class State { kWaiting /* for a call */, kBehind /* waits for changes */, kReplying };
  void Handle();
  void Work();
  void Answer(std::string_view request);
  // Whether the answer is to wait for changes of records, without a thread; then it does.
  bool AwaitsChanges(std::string_view request);
  // The bytes of the request, which slice_ keeps.
  std::string_view Request();
  void Reply(const Result<grpc::ByteBuffer>& reply);
  void Refuse(const Status& refused);
  const char* name() const {
    return method_ == LookupMethod::kLookup ? "/mdh.v1.KernelService/LookupKernel"
                                            : "/mdh.v1.KernelService/BatchLookupKernels";
  }

  LookupServer& server_;
  const LookupMethod method_;
  State state_ = State::kWaiting;
  absl::Duration look_;  // the next one
  std::optional<grpc::Alarm> alarm_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> responder_;
  grpc::ByteBuffer request_;
  grpc::Slice slice_;
  std::optional<LookupAnswers::Slow> slow_;
};

void LookupServer::Slot::Arm() {
  state_ = State::kWaiting;
  responder_.reset();
  context_.emplace();
  responder_.emplace(&*context_);
  request_.Clear();
  grpc::ServerCompletionQueue* queue = server_.queue_.get();
  if (method_ == LookupMethod::kLookup) {
    server_.service_.RequestLookupKernel(&*context_, &request_, &*responder_, queue, queue, tag());
  } else {
    server_.service_.RequestBatchLookupKernels(&*context_, &request_, &*responder_, queue, queue,
                                               tag());
  }
}

void LookupServer::Slot::Proceed(bool is_ok) {
  if (state_ == State::kWaiting) {
    if (is_ok) Handle();  // else the server stops
    return;
  }
  if (state_ == State::kBehind) return Work();
  if (slow_) server_.answers_.Learn(*slow_);
  slow_.reset();
  slice_ = grpc::Slice();
  Arm();
}

std::string_view LookupServer::Slot::Request() {
  const bool has_bytes =
      request_.TrySingleSlice(&slice_).ok() || request_.DumpToSingleSlice(&slice_).ok();
  if (!has_bytes) slice_ = grpc::Slice();
  return {reinterpret_cast<const char*>(slice_.begin()), slice_.size()};
}

void LookupServer::Slot::Handle() {
  begin_ = std::chrono::steady_clock::now();
  look_ = kFirstLook;
  if (server_.options_.admit) {
    if (const Status admitted = server_.options_.admit(*context_, name()); !admitted.ok()) {
      Refuse(admitted);
      return;
    }
  }
  Work();
}

void LookupServer::Slot::Work() {
  try {
    const std::string_view request = Request();
    if (!AwaitsChanges(request)) Answer(request);
  } catch (const std::bad_alloc&) {
    Refuse(OutOfMemory());
  }
}

void LookupServer::Slot::Refuse(const Status& refused) {
  server_.metrics_.CountOutcome(refused.code());
  Reply(refused);
}

bool LookupServer::Slot::AwaitsChanges(std::string_view request) {
  const auto waited = absl::FromChrono(std::chrono::steady_clock::now() - begin_);
  if (waited >= kPatienceForChanges || !server_.answers_.IsBehind(method_, request)) return false;
  state_ = State::kBehind;
  const auto look_us =
      absl::ToInt64Microseconds(std::exchange(look_, std::min(2 * look_, kLastLook)));
  alarm_.emplace();
  alarm_->Set(
      server_.queue_.get(),
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_micros(look_us, GPR_TIMESPAN)),
      tag());
  return true;
}

void LookupServer::Slot::Answer(std::string_view request) {
  if (const auto reply = server_.answers_.AnswerAtOnce(method_, request)) {
    Reply(*reply);
    return;
  }
  const bool is_taken = server_.workers_->Submit([this, request] {
    try {
      slow_ = server_.answers_.Answer(method_, request, [this](const std::string& source) {
        return server_.service_.TuningRequester(*context_, source);
      });
    } catch (const std::bad_alloc&) {
      return Refuse(OutOfMemory());
    }
    Reply(slow_->reply);
  });
  if (is_taken) return;
  Refuse(
      WithRetry(ResourceExhausted("too many expressions wait to be looked up"), absl::Seconds(1)));
}

void LookupServer::Slot::Reply(const Result<grpc::ByteBuffer>& reply) {
  server_.metrics_.CountCall(absl::FromChrono(std::chrono::steady_clock::now() - begin_));
  // From here on the queue's thread may go on with this slot.
  state_ = State::kReplying;
  if (reply.ok()) {
    responder_->Finish(*reply, grpc::Status::OK, tag());
  } else {
    responder_->FinishWithError(ToGrpcStatus(reply.status()), tag());
  }
}

LookupServer::LookupServer(KernelServiceImpl& service, const KernelFinder& finder,
                           const LookupTable& table, LookupServerOptions options)
    : service_(service),
      options_(std::move(options)),
      answers_(finder, table, service.replica(), metrics_) {}

LookupServer::~LookupServer() { Stop(); }

void LookupServer::AddTo(grpc::ServerBuilder& builder) { queue_ = builder.AddCompletionQueue(); }

Status LookupServer::Start() {
  workers_ = std::make_unique<LookupWorkers>(options_.worker_threads, options_.max_waiting);
  for (int n = 0; n < options_.slots; ++n) {
    for (const LookupMethod method : {LookupMethod::kLookup, LookupMethod::kBatch}) {
      slots_.push_back(std::make_unique<Slot>(*this, method));
      slots_.back()->Arm();
    }
  }
  MDH_ASSIGN_OR_RETURN(thread_, StartThread([this] { Serve(); }));
  return absl::OkStatus();
}

void LookupServer::Serve() {
  void* tag = nullptr;
  bool is_ok = false;
  bool is_ending = false;
  while (queue_->Next(&tag, &is_ok)) {
    if (tag == nullptr) {
      is_ending = true;
      queue_->Shutdown();
    } else if (!is_ending) {
      static_cast<QueueEvent*>(tag)->Proceed(is_ok);
    }
  }
}

void LookupServer::Stop() {
  if (queue_ == nullptr) return;
  // Their replies need the queue, whose thread may still have calls for them.
  if (workers_ != nullptr) workers_->Stop();
  // The queue's thread ends the queue, since a slot that waits for its next call must not do so on
  // one that has ended.
  grpc::Alarm end;
  end.Set(queue_.get(), gpr_now(GPR_CLOCK_MONOTONIC), nullptr);  // whatever the time of day is
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Serve();  // it was never started
  }
  queue_.reset();
  slots_.clear();
}

}  // namespace mdh
