#include "tuner/process/runner_channel.h"

#include <limits>

#include "tuner/process/message_stream.h"

namespace mdh {

Result<std::optional<v1::RunnerRequest>> RunnerChannel::Next(int64_t timeout_ns) {
  const uint64_t submissions = submissions_;
  while (waiting_.empty() && end_.ok() && submissions == submissions_) {
    Wait(timeout_ns);
    if (timeout_ns >= 0) break;
  }
  if (!waiting_.empty() && end_.ok()) {
    std::optional<v1::RunnerRequest> request = std::move(waiting_.front());
    waiting_.pop_front();
    return request;
  }
  if (!end_.ok()) return end_;
  return std::nullopt;
}

void RunnerChannel::Send(uint64_t id, v1::RunnerResponse response) {
  response.set_id(id);
  if (end_.ok() && !SendMessage(socket_, response).ok()) Stop(Unavailable("the caller is gone"));
}

void RunnerChannel::WaitFor(absl::Span<const int> sockets, int64_t timeout_ns) {
  std::vector<int> all;
  if (end_.ok()) all.push_back(socket_);
  all.insert(all.end(), sockets.begin(), sockets.end());
  if (background_.sockets) {
    const std::vector<int> more = background_.sockets();
    all.insert(all.end(), more.begin(), more.end());
  }
  if (WaitForChildOrInput(all, timeout_ns) && end_.ok()) Read();
  if (background_.advance) background_.advance();
}

void RunnerChannel::Read() {
  v1::RunnerRequest request;
  if (Status status = ReceiveMessage(socket_, request); !status.ok()) {
    return Stop(std::move(status));
  }
  if (request.call_case() == v1::RunnerRequest::kInterrupt) {
    interrupted_up_to_ = std::max(interrupted_up_to_, request.interrupt().request_id());
  } else if (request.call_case() == v1::RunnerRequest::kSubmit && background_.on_submit) {
    ++submissions_;
    background_.on_submit(request);
  } else {
    waiting_.push_back(std::move(request));
  }
}

void RunnerChannel::Stop(Status status) {
  end_ = std::move(status);
  interrupted_up_to_ = std::numeric_limits<uint64_t>::max();
}

}  // namespace mdh
