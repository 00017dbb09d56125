#include "server/access/connection_limits.h"

#include <grpcpp/resource_quota.h>

namespace mdh {

void LimitConnections(grpc::ServerBuilder& builder, const ConnectionLimits& limits) {
  // A few bytes can stand for gigabytes, which gRPC would make of them before anything is looked
  // at: compressed messages are refused, and nothing is inflated.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxRequestBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(kMaxMetadataBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.calls_per_connection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, limits.handshake_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, limits.silence_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, limits.answer_ms);
  // Also to clients without calls, whose machines may be gone.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // A client that has nothing to say is asked again and again all the same.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.SetResourceQuota(grpc::ResourceQuota("mdhd").SetMaxThreads(limits.call_threads));
}

}  // namespace mdh
