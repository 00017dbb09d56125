#include "server/services/watch_streams.h"

#include <algorithm>

#include "core/base/start_thread.h"
#include "proto/error_details.h"
#include "server/operate/steady_time.h"

namespace mdh {
namespace {

using Event = WatchStream::Event;

// Calls of one method that may come at the same time; others wait in gRPC.
constexpr int kWaiting = 16;
// Between looks at all streams: when nothing wakes them, and when something does all the time. Then
// it is so many times as long as a look takes, between these: a client that is told of one change
// hears of the next one soon, and many clients do not take a core.
constexpr absl::Duration kLongest = absl::Seconds(1);
constexpr absl::Duration kLeastPause = absl::Milliseconds(1);
constexpr absl::Duration kMostPause = absl::Milliseconds(10);
constexpr int kLooksInPause = 10;

}  // namespace

WatchStreams::~WatchStreams() { Join(); }

Status WatchStreams::Start(grpc::ServerCompletionQueue& queue) {
  queue_ = &queue;
  for (const Make& make : makers_) {
    for (int n = 0; n < kWaiting; ++n) Arm(make);
  }
  MDH_ASSIGN_OR_RETURN(thread_, StartThread([this] { Work(); }));
  return absl::OkStatus();
}

void WatchStreams::Arm(const Make& make) {
  std::unique_ptr<WatchStream> stream = make();
  WatchStream& armed = *stream;
  {
    absl::MutexLock lock(&mutex_);
    streams_[&armed] = {std::move(stream), &make};
  }
  armed.Arm();
}

void WatchStreams::Wake() {
  absl::MutexLock lock(&mutex_);
  is_woken_ = true;
}

void WatchStreams::Stop() {
  absl::MutexLock lock(&mutex_);
  is_stopping_ = true;
  is_woken_ = true;
}

void WatchStreams::Join() {
  {
    absl::MutexLock lock(&mutex_);
    is_joining_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void WatchStreams::Clear() {
  absl::MutexLock lock(&mutex_);
  streams_.clear();
}

void WatchStreams::OnEvent(WatchStream& stream, Event event) {
  absl::MutexLock lock(&mutex_);
  events_.push_back({&stream, event});
}

Status WatchStreams::Refusal(const Status& end) const {
  if (!end.ok() || served_.size() < max_streams_) return end;
  return WithRetry(
      ResourceExhausted("more than ", max_streams_, " clients watch already; try again later"),
      absl::Seconds(10));
}

void WatchStreams::Handle(const Happened& happened, const Status& end) {
  const auto [stream, event] = happened;
  const Make* make = nullptr;
  std::unique_ptr<WatchStream> over;  // destroyed without the lock
  {
    absl::MutexLock lock(&mutex_);
    const auto at = streams_.find(stream);
    make = at->second.make;
    if (event == Event::kOver) {
      over = std::move(at->second.stream);
      streams_.erase(at);
    }
  }
  if (event == Event::kOver) {
    served_.erase(stream);
    return;
  }
  Status refusal;
  if (event == Event::kCall) {
    Arm(*make);
    refusal = Refusal(end);
    if (refusal.ok()) served_.insert(stream);
  }
  stream->Pump(refusal, end);
}

void WatchStreams::AwaitWork(absl::Time last, absl::Duration pause) {
  const auto has_events = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_joining_ || !events_.empty();
  };
  const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_joining_ || !events_.empty() || is_woken_;
  };
  mutex_.AwaitWithTimeout(absl::Condition(&has_work), last + kLongest - SteadyTime());
  mutex_.AwaitWithTimeout(absl::Condition(&has_events), last + pause - SteadyTime());
}

void WatchStreams::Work() {
  const Status stopping = WithRetry(Unavailable("the daemon is stopping"), absl::Seconds(5));
  absl::Time last = absl::InfinitePast();
  absl::Duration pause = kMostPause;
  while (true) {
    std::vector<Happened> events;
    bool looks_at_all = false;
    Status end;
    {
      absl::MutexLock lock(&mutex_);
      AwaitWork(last, pause);
      if (is_joining_) return;
      events.swap(events_);
      if (is_stopping_) end = stopping;
      const absl::Time now = SteadyTime();
      looks_at_all = now >= last + (is_woken_ ? pause : kLongest);
      if (looks_at_all) {
        is_woken_ = false;
        last = now;
      }
    }
    for (const Happened& happened : events) Handle(happened, end);
    size_ = served_.size();
    if (!looks_at_all) continue;
    for (WatchStream* stream : served_) stream->Pump(absl::OkStatus(), end);
    pause = std::clamp(kLooksInPause * (SteadyTime() - last), kLeastPause, kMostPause);
  }
}

}  // namespace mdh
