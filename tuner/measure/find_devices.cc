#include "tuner/measure/find_devices.h"

#include <poll.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/device_conversion.h"
#include "tuner/process/clock.h"
#include "tuner/process/message_stream.h"
#include "tuner/process/process_session.h"

namespace mdh {
namespace {

constexpr int64_t kLimit = 180'000'000'000;
constexpr int kStepMs = 50;

// Waits until the answer begins. Errors: Cancelled; DeadlineExceeded.
Status AwaitAnswer(int socket, const std::atomic<bool>* is_stopping) {
  const int64_t deadline_ns = NowNs() + kLimit;
  for (pollfd entry = {socket, POLLIN, 0}; poll(&entry, 1, kStepMs) <= 0;) {
    if (is_stopping != nullptr && *is_stopping) return Cancelled("stopping");
    if (NowNs() > deadline_ns) return DeadlineExceeded("no answer");
  }
  return absl::OkStatus();
}

}  // namespace

Result<DeviceSearch> FindDevices(const std::string& runner_program,
                                 const std::atomic<bool>* is_stopping) {
  MDH_ASSIGN_OR_RETURN(ProcessSession session,
                       ProcessSession::Start(runner_program, std::nullopt, {"--list"}));
  v1::RunnerDeviceList list;
  Status received = AwaitAnswer(session.socket(), is_stopping);
  if (received.ok()) received = ReceiveMessage(session.socket(), list, kLimit);
  const std::string how =
      session.End(absl::IsCancelled(received) || absl::IsDeadlineExceeded(received)
                      ? 0
                      : ProcessSession::kPatience);
  if (absl::IsCancelled(received)) return received;
  if (!received.ok()) {
    return FailedPrecondition(runner_program, " --list did not say which devices there are: ", how);
  }
  return FoundIn(list);
}

DeviceSearch FoundIn(const v1::RunnerDeviceList& list) {
  DeviceSearch search;
  search.missing.assign(list.missing().begin(), list.missing().end());
  for (const v1::RunnerAttachedDevice& device : list.devices()) {
    Result<DeviceDescription> description = FromProto(device.description());
    if (description.ok()) {
      search.devices.push_back(
          {device.selector(), *std::move(description), device.platform(), device.driver()});
    } else {
      search.missing.push_back(absl::StrCat("no device ", device.selector(), ": ",
                                            std::string(description.status().message())));
    }
  }
  return search;
}

}  // namespace mdh
