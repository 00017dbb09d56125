// Streams to clients that follow something, without a thread for each: the queue of the lookups
// does their input and output, and one thread looks what there is to send.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/services/watch_stream.h"

namespace mdh {

// Thread-safe. In this order: AddMethod, Start, Stop, Join; then the queue ends, then Clear.
class WatchStreams final : private WatchStream::Owner {
 public:
  // `max_streams`: calls of all methods at once; further ones are refused with RESOURCE_EXHAUSTED.
  explicit WatchStreams(size_t max_streams = 2'048) : max_streams_(max_streams) {}
  ~WatchStreams();  // as Join
  WatchStreams(const WatchStreams&) = delete;
  WatchStreams& operator=(const WatchStreams&) = delete;

  template <typename Request, typename Response>
  void AddMethod(WatchMethod<Request, Response> method) {
    const auto kept = std::make_shared<const WatchMethod<Request, Response>>(std::move(method));
    makers_.push_back([this, kept] {
      WatchStream::Owner& owner = *this;
      return std::make_unique<TypedWatchStream<Request, Response>>(*kept, *queue_, owner);
    });
  }
  // As soon as the server is built. `queue`: its tags are QueueEvents. Errors: ResourceExhausted if
  // there is no thread.
  Status Start(grpc::ServerCompletionQueue& queue);
  // Something may have changed: all streams look for it, after a pause of 1 to 10 ms since the
  // last time, the longer the more there are. Without this they look once a second.
  void Wake() ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on streams are sent what there is left, and end with UNAVAILABLE. Does not wait.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the thread, after which nothing is sent. When the server was shut down.
  void Join() ABSL_LOCKS_EXCLUDED(mutex_);
  // Destroys what there is left of streams. When the queue has ended, before the server goes away.
  void Clear() ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls that are served.
  size_t size() const { return size_; }

 private:
  using Make = std::function<std::unique_ptr<WatchStream>()>;
  struct Owned {
    std::unique_ptr<WatchStream> stream;
    const Make* make;
  };
  struct Happened {
    WatchStream* stream;
    WatchStream::Event event;
  };

  void OnEvent(WatchStream& stream, WatchStream::Event event) override ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for one more call of a method.
  void Arm(const Make& make) ABSL_LOCKS_EXCLUDED(mutex_);

  // By the thread.
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  void Handle(const Happened& happened, const Status& end) ABSL_LOCKS_EXCLUDED(mutex_);
  // Why a new call is not served; Ok: it is.
  Status Refusal(const Status& end) const;
  // Waits until there is something to do. `last`: when all streams were looked at; `pause`: until
  // that is done again.
  void AwaitWork(absl::Time last, absl::Duration pause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_streams_;
  std::vector<Make> makers_;
  grpc::ServerCompletionQueue* queue_ = nullptr;
  std::thread thread_;
  absl::flat_hash_set<WatchStream*> served_;  // of the thread
  std::atomic<size_t> size_ = 0;              // of these
  absl::Mutex mutex_;
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_joining_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Happened> events_ ABSL_GUARDED_BY(mutex_);  // that the thread has not seen
  absl::flat_hash_map<WatchStream*, Owned> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh
