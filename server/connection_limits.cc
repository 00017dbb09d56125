#include "server/connection_limits.h"

#include <grpcpp/resource_quota.h>

namespace mdh {
namespace {

constexpr int kHandshakeMs = 10'000;
constexpr int kSilenceMs = 120'000;
constexpr int kAnswerMs = 20'000;

}  // namespace

void LimitConnections(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxRequestBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(kMaxMetadataBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(kMaxCallsPerConnection));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kSilenceMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAnswerMs);
  builder.SetResourceQuota(grpc::ResourceQuota("mdhd").SetMaxThreads(kMaxCallThreads));
}

}  // namespace mdh
