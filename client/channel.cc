#include "client/channel.h"

#include "absl/strings/str_cat.h"
#include "client/retry_policy.h"

namespace mdh {

Result<std::shared_ptr<grpc::Channel>> ConnectChannel(const std::string& target, int64_t limit_ns) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(RetryServiceConfig());
  std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  const auto limit = After(limit_ns);
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  // A first failure is final: nobody waits for a daemon that is not there.
  while (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING) {
    if (!channel->WaitForStateChange(state, limit)) break;
    state = channel->GetState(/*try_to_connect=*/true);
  }
  if (state != GRPC_CHANNEL_READY) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to ", target, "; is mdhd running there?"));
  }
  return channel;
}

}  // namespace mdh
