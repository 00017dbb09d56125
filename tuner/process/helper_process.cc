#include "tuner/process/helper_process.h"

#include <poll.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tuner/process/clock.h"
#include "tuner/process/message_stream.h"
#include "tuner/process/socket_pair.h"

namespace mdh {

Result<HelperProcess> HelperProcess::Start(ChildLimits limits, const std::function<int()>& body) {
  MDH_ASSIGN_OR_RETURN(SocketPair sockets, SocketPair::Make());
  limits.socket = sockets.theirs.get();
  MDH_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Fork(limits, body));
  return HelperProcess(std::move(child), std::move(sockets.ours));
}

Status HelperProcess::Send(const google::protobuf::MessageLite& message) {
  return SendMessage(socket_.get(), message);
}

bool HelperProcess::IsReadable() const {
  pollfd entry = {socket_.get(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

Status HelperProcess::Receive(google::protobuf::MessageLite& message) {
  return ReceiveMessage(socket_.get(), message);
}

Status HelperProcess::Await(google::protobuf::MessageLite& message,
                            const std::function<int64_t()>& deadline_ns, Supervisor& supervisor,
                            const std::string& what) {
  while (!IsReadable()) {
    const int64_t left_ns = deadline_ns() - NowNs();
    if (supervisor.interrupted() || left_ns <= 0) {
      End();
      if (supervisor.interrupted()) return Cancelled("cancelled");
      return DeadlineExceeded(what, " took too long");
    }
    supervisor.WaitFor({socket_.get()}, std::min<int64_t>(left_ns, 50'000'000));
  }
  const Status received = Receive(message);
  if (received.ok()) return received;
  return Internal(what, ": ", ToText(End()));
}

ChildEnd HelperProcess::End() {
  child_.Kill();
  return child_.Poll().value_or(ChildEnd{});
}

std::string ToText(const ChildEnd& end) {
  return end.signal != 0 ? SignalName(end.signal) : absl::StrCat("exit status ", end.exit_code);
}

}  // namespace mdh
