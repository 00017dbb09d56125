#include "tuner/device/find_devices.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/measure/message_stream.h"
#include "tuner/measure/process_session.h"
#include "tuner/measure/runner_messages.h"

namespace mdh {
namespace {

constexpr int64_t kLimit = 180'000'000'000;

}  // namespace

Result<DeviceSearch> FindDevices(const std::string& runner_program) {
  MDH_ASSIGN_OR_RETURN(ProcessSession session,
                       ProcessSession::Start(runner_program, std::nullopt, {"--list"}));
  v1::RunnerDeviceList list;
  const Status received = ReceiveMessage(session.socket(), list, kLimit);
  const std::string how = session.End();
  if (!received.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(runner_program, " --list did not say which devices there are: ", how));
  }
  DeviceSearch search;
  for (const v1::RunnerAttachedDevice& device : list.devices()) {
    search.devices.push_back(
        {device.selector(), FromMessage(device.description()), device.platform(), device.driver()});
  }
  search.missing.assign(list.missing().begin(), list.missing().end());
  return search;
}

}  // namespace mdh
