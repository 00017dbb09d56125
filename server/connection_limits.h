// What clients can make grow by their connections alone.
#pragma once

#include <grpcpp/server_builder.h>

#include <cstdint>

namespace mdh {

// The largest specification of a study, and a little more.
inline constexpr int64_t kMaxRequestBytes = 4 << 20;
// Headers of one call, with the token.
inline constexpr int64_t kMaxMetadataBytes = 16 << 10;
// Calls that one connection may have open; more wait in the client.
inline constexpr int64_t kMaxCallsPerConnection = 1'024;
// Of the whole server, for calls that hold one each; when all are taken, further calls fail with
// RESOURCE_EXHAUSTED.
inline constexpr int kMaxCallThreads = 1'024;

// Also ends connections whose handshake is not done in 10 s, and those whose client does not answer
// pings, which it gets when it was silent for 2 minutes, within 20 s.
void LimitConnections(grpc::ServerBuilder& builder);

}  // namespace mdh
