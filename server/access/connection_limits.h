// What clients can make grow by their connections alone.
#pragma once

#include <grpcpp/server_builder.h>

#include <cstdint>

namespace mdh {

// The largest specification of a study, and a little more; not compressed, which is refused.
inline constexpr int64_t kMaxRequestBytes = 4 << 20;
// Headers of one call, with the token.
inline constexpr int64_t kMaxMetadataBytes = 16 << 10;

struct ConnectionLimits {
  // Calls that one connection may have open; more wait in the client.
  int calls_per_connection = 1'024;
  // Of the whole server, for calls that hold one each; when all are taken, further calls fail with
  // RESOURCE_EXHAUSTED.
  int call_threads = 1'024;
  // Connections whose handshake takes longer are ended.
  int handshake_ms = 10'000;
  // A client that was silent for so long gets a ping, with calls or without, and its connection is
  // ended if it does not answer in time.
  int silence_ms = 120'000;
  int answer_ms = 20'000;
};

void LimitConnections(grpc::ServerBuilder& builder, const ConnectionLimits& limits = {});

}  // namespace mdh
