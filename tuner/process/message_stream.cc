// Framing: four bytes of length, then the message.
#include "tuner/process/message_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Batches of kernel sources are far smaller; a longer frame means that the stream is broken.
constexpr uint32_t kLongestMessage = 1u << 30;

Status Gone() { return Unavailable("the other side of the runner's socket is gone"); }

Status SendBytes(int socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Gone();
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return absl::OkStatus();
}

// Waits until the socket can be read or has ended.
Status AwaitInput(int socket, std::optional<int64_t> deadline_ns) {
  while (true) {
    int timeout = -1;
    if (deadline_ns) {
      const int64_t left_ms = (*deadline_ns - NowNs()) / 1'000'000;
      timeout = static_cast<int>(std::clamp<int64_t>(left_ms, 0, 1'000'000));
    }
    pollfd entry = {socket, POLLIN, 0};
    const int ready = poll(&entry, 1, timeout);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Gone();
    if (deadline_ns && NowNs() >= *deadline_ns)
      return DeadlineExceeded("the runner does not answer");
  }
}

Status ReceiveBytes(int socket, char* data, size_t size, std::optional<int64_t> deadline_ns) {
  while (size > 0) {
    MDH_RETURN_IF_ERROR(AwaitInput(socket, deadline_ns));
    const ssize_t received = recv(socket, data, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return Gone();
    data += received;
    size -= static_cast<size_t>(received);
  }
  return absl::OkStatus();
}

}  // namespace

Status SendMessage(int socket, const google::protobuf::MessageLite& message) {
  std::string frame(sizeof(uint32_t), '\0');
  if (!message.AppendToString(&frame) || frame.size() - sizeof(uint32_t) > kLongestMessage) {
    return Internal("a message for the runner is too long");
  }
  const uint32_t length = static_cast<uint32_t>(frame.size() - sizeof(uint32_t));
  std::memcpy(frame.data(), &length, sizeof(length));
  return SendBytes(socket, frame.data(), frame.size());
}

Status ReceiveMessage(int socket, google::protobuf::MessageLite& message,
                      std::optional<int64_t> timeout_ns) {
  const std::optional<int64_t> deadline_ns =
      timeout_ns ? std::make_optional(NowNs() + *timeout_ns) : std::nullopt;
  uint32_t length = 0;
  MDH_RETURN_IF_ERROR(
      ReceiveBytes(socket, reinterpret_cast<char*>(&length), sizeof(length), deadline_ns));
  if (length > kLongestMessage) {
    return Internal("a message of ", length, " bytes on the runner's socket: the stream is broken");
  }
  std::string bytes(length, '\0');
  MDH_RETURN_IF_ERROR(ReceiveBytes(socket, bytes.data(), bytes.size(), deadline_ns));
  if (!message.ParseFromString(bytes)) {
    return Internal("bytes on the runner's socket are not the message expected there");
  }
  return absl::OkStatus();
}

}  // namespace mdh
