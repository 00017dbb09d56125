// What commands that make one call of AdminClient share.
#pragma once

#include <functional>
#include <memory>

#include "client/admin_client.h"
#include "client/commands/call/command.h"

namespace mdh {

// Connects, calls, and prints what comes: as JSON, or by `print`.
template <typename Message>
Status CallAndPrint(const GlobalOptions& options,
                    const std::function<Result<Message>(AdminClient&)>& call,
                    const std::function<void(const Message&)>& print) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client, ConnectTo<AdminClient>(options));
  MDH_ASSIGN_OR_RETURN(const Message result, call(*client));
  Show(options, result, print);
  return absl::OkStatus();
}

}  // namespace mdh
