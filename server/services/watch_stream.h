// One stream to a client that follows something.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "proto/grpc_status.h"
#include "server/lookup/queue_event.h"

namespace mdh {

// What a stream does next; neither: there is nothing to send yet.
template <typename Response>
struct WatchStep {
  std::optional<Response> response = std::nullopt;
  std::optional<Status> end = std::nullopt;  // after the response
};

// Gives the next step. By one thread at a time; may take a while.
template <typename Response>
using WatchNext = std::function<WatchStep<Response>()>;

template <typename Request, typename Response>
struct WatchMethod {
  // Starts to wait for a call.
  std::function<void(grpc::ServerContext*, Request*, grpc::ServerAsyncWriter<Response>*,
                     grpc::ServerCompletionQueue*, void* tag)>
      await;
  // Begins to serve it; what it holds is released when the call ends. Errors: sent to the client.
  std::function<Result<WatchNext<Response>>(const grpc::ServerContext&, const Request&)> follow;
};

// A call from the wait for it to its end. Thread-safe, but for Pump.
class WatchStream {
 public:
  enum class State {
    kWaiting,  // for a call
    kNew,      // a call came, and is not served yet
    kIdle,     // nothing to send
    kWriting,
    kFinishing,
    kOver,  // nothing of it is in gRPC any more
  };
  enum class Event {
    kCall,  // the first of a stream: a call came
    kNews,  // Pump may have something to do
    kOver,  // the last one
  };
  // Who destroys a stream, but not before the last event: only then is it sure that the queue's
  // thread is done with it.
  class Owner {
   public:
    // On the queue's thread.
    virtual void OnEvent(WatchStream& stream, Event event) = 0;

   protected:
    ~Owner() = default;
  };

  virtual ~WatchStream() = default;
  virtual void Arm() = 0;
  // Sends what there is to send. `refusal`: what a new call ends with; Ok: it is served. `end`:
  // what it ends with when nothing is left to send; Ok: it goes on. By one thread.
  virtual void Pump(const Status& refusal, const Status& end) = 0;
  virtual State state() const = 0;
};

template <typename Request, typename Response>
class TypedWatchStream final : public WatchStream {
 public:
  TypedWatchStream(const WatchMethod<Request, Response>& method, grpc::ServerCompletionQueue& queue,
                   Owner& owner)
      : method_(method), queue_(queue), owner_(owner) {}

  void Arm() override {
    context_.AsyncNotifyWhenDone(static_cast<QueueEvent*>(&on_done_));
    method_.await(&context_, &request_, &writer_, &queue_, static_cast<QueueEvent*>(&on_call_));
  }

  void Pump(const Status& refusal, const Status& end) override ABSL_LOCKS_EXCLUDED(mutex_) {
    const State before = state();
    if (before == State::kNew && !Begin(refusal)) return;
    if (before != State::kNew && before != State::kIdle) return;
    // Not under the lock: the queue's thread, which serves the lookups, must not wait for it. While
    // the stream is idle nothing of it is written, and only this thread changes that.
    WatchStep<Response> step = next_();
    if (!step.response && !step.end && !end.ok()) step.end = end;
    absl::MutexLock lock(&mutex_);
    if (is_gone_) return Finish(Cancelled("the client went away"));
    end_ = std::move(step.end);
    if (step.response) {
      state_ = State::kWriting;
      writer_.Write(*step.response, static_cast<QueueEvent*>(&on_written_));
    } else if (end_) {
      Finish(*end_);
    }
  }

  State state() const override ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return state_;
  }

 private:
  // The end of one kind of operation.
  template <void (TypedWatchStream::*kHandle)(bool)>
  class Ended final : public QueueEvent {
   public:
    explicit Ended(TypedWatchStream& stream) : stream_(stream) {}
    void Proceed(bool is_ok) override { (stream_.*kHandle)(is_ok); }

   private:
    TypedWatchStream& stream_;
  };

  // All of these by the queue's thread, one after the other.
  void OnCall(bool is_ok) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (!is_ok) return End();  // the server stops, and nothing else will come
    {
      absl::MutexLock lock(&mutex_);
      state_ = State::kNew;
    }
    owner_.OnEvent(*this, Event::kCall);
  }
  void OnWritten(bool is_ok) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      state_ = State::kIdle;
      is_gone_ |= !is_ok;
      if (end_ && is_ok) return Finish(*end_);
    }
    owner_.OnEvent(*this, Event::kNews);
  }
  void OnFinished(bool) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      has_finished_ = true;
      if (!is_done_) return;
    }
    End();
  }
  // The client has all, or it went away.
  void OnDone(bool) ABSL_LOCKS_EXCLUDED(mutex_) {
    bool is_over = false;
    {
      absl::MutexLock lock(&mutex_);
      is_done_ = true;
      is_gone_ |= context_.IsCancelled();
      is_over = has_finished_;
    }
    if (is_over) return End();
    owner_.OnEvent(*this, Event::kNews);
  }
  // Nothing may be touched afterwards: the owner destroys this.
  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      state_ = State::kOver;
    }
    owner_.OnEvent(*this, Event::kOver);
  }

  // False if the call is refused.
  bool Begin(const Status& refusal) ABSL_LOCKS_EXCLUDED(mutex_) {
    Result<WatchNext<Response>> next =
        refusal.ok() ? method_.follow(context_, request_) : Result<WatchNext<Response>>(refusal);
    absl::MutexLock lock(&mutex_);
    if (!next.ok()) {
      Finish(next.status());
      return false;
    }
    next_ = *std::move(next);
    state_ = State::kIdle;
    return true;
  }
  void Finish(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state_ = State::kFinishing;
    writer_.Finish(ToGrpcStatus(status), static_cast<QueueEvent*>(&on_finished_));
  }

  const WatchMethod<Request, Response>& method_;
  grpc::ServerCompletionQueue& queue_;
  Owner& owner_;
  Ended<&TypedWatchStream::OnCall> on_call_{*this};
  Ended<&TypedWatchStream::OnWritten> on_written_{*this};
  Ended<&TypedWatchStream::OnFinished> on_finished_{*this};
  Ended<&TypedWatchStream::OnDone> on_done_{*this};
  grpc::ServerContext context_;
  Request request_;
  grpc::ServerAsyncWriter<Response> writer_{&context_};
  WatchNext<Response> next_;  // of the thread that pumps
  mutable absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kWaiting;
  bool is_gone_ ABSL_GUARDED_BY(mutex_) = false;  // the client
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh
