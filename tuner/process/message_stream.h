// Protocol buffer messages over a stream socket, each after its length.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/status.h"
#include "google/protobuf/message_lite.h"

namespace mdh {

// Sends the whole message. Safe to call while another thread receives, not while another one sends.
// Errors: Unavailable if the other side is gone.
Status SendMessage(int socket, const google::protobuf::MessageLite& message);

// Waits for a message; forever without `timeout_ns`.
// Errors: Unavailable if the other side is gone, DeadlineExceeded, Internal for bytes that are no
// such message.
Status ReceiveMessage(int socket, google::protobuf::MessageLite& message,
                      std::optional<int64_t> timeout_ns = std::nullopt);

}  // namespace mdh
