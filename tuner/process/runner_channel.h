// The runner's end of the socket to its caller: source of requests, and of interruptions while one
// is worked on.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/process/child_process.h"

namespace mdh {

// Not thread-safe. Kernels may be submitted at any time: `on_submit` is called whenever messages
// are read, also within Wait, and whatever else goes on in the background with it. Other requests
// wait their turn.
class RunnerChannel final : public Supervisor {
 public:
  explicit RunnerChannel(int socket) : socket_(socket) {}

  struct Background {
    std::function<void(const v1::RunnerRequest&)> on_submit;
    std::function<void()> advance;  // after every wait
    std::function<std::vector<int>()> sockets;
  };
  void set_background(Background background) { background_ = std::move(background); }

  // The next request other than to submit; waits for one at most `timeout_ns` (-1: for ever, or
  // until a kernel is submitted). nullopt: there is none now. Errors: Unavailable if the caller has
  // closed the socket; Internal for nonsense.
  Result<std::optional<v1::RunnerRequest>> Next(int64_t timeout_ns);
  // Answers the request with that id. What cannot be sent shows in the next call of Next.
  void Send(uint64_t id, v1::RunnerResponse response);

  void WaitFor(absl::Span<const int> sockets, int64_t timeout_ns) override;
  // Whether the request that is worked on, or one after it, was interrupted.
  bool interrupted() const override { return interrupted_up_to_ >= current_; }
  // Says which request is worked on.
  void set_current(uint64_t id) { current_ = id; }
  uint64_t current() const { return current_; }
  // Whether the request with that id was interrupted.
  bool IsInterrupted(uint64_t id) const { return interrupted_up_to_ >= id; }

 private:
  void Read();
  void Stop(Status status);

  int socket_;
  Background background_;
  std::deque<v1::RunnerRequest> waiting_;
  uint64_t submissions_ = 0;
  uint64_t current_ = 0;
  uint64_t interrupted_up_to_ = 0;
  Status end_;  // why there is nothing more to come
};

}  // namespace mdh
