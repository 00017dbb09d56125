// What commands that make one call of AdminClient share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/admin_client.h"
#include "client/commands/call/command.h"

namespace mdh {

// Connects, calls, and prints what comes: as JSON, or by `print`.
template <typename Message>
ExitCode CallAndPrint(const GlobalOptions& options,
                      const std::function<Result<Message>(AdminClient&)>& call,
                      const std::function<void(const Message&)>& print) {
  const Result<std::unique_ptr<AdminClient>> client =
      AdminClient::Connect(options.server, options.client);
  if (!client.ok()) return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
  const Result<Message> result = call(**client);
  if (!result.ok()) return Fail(result.status());
  if (options.json) {
    PrintJson(*result);
  } else {
    print(*result);
  }
  return ExitCode::kOk;
}

}  // namespace mdh
