#include "tuner/measure/device_list.h"

#include <signal.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/device/device_description.h"
#include "mdh/v1/runner.pb.h"
#include "proto/device_conversion.h"
#include "tuner/measure/compile/attached_device.h"
#include "tuner/process/child_process.h"
#include "tuner/process/message_stream.h"

namespace mdh {
namespace {

void Print(const v1::RunnerDeviceList& list) {
  for (const v1::RunnerAttachedDevice& device : list.devices()) {
    std::printf("%-10s %s", device.selector().c_str(), device.description().model().c_str());
    if (!device.platform().empty()) {
      std::printf(" (%s, driver %s)", device.platform().c_str(), device.driver().c_str());
    }
    std::printf("\n");
  }
  for (const std::string& missing : list.missing()) std::printf("missing: %s\n", missing.c_str());
}

}  // namespace

Status ListDevices(const RunnerProcessOptions& options) {
  signal(SIGPIPE, SIG_IGN);
  PrepareToSupervise();
  PatientSupervisor supervisor;
  v1::RunnerDeviceList list;
  MDH_ASSIGN_OR_RETURN(const DeviceDescription cpu, DescribeHostCpu());
  v1::RunnerAttachedDevice& host = *list.add_devices();
  host.set_selector("cpu");
  *host.mutable_description() = ToProto(cpu);
  DriverOptions drivers;
  drivers.cuda_root = options.cuda_root;
  for (const BackendInfo& backend : Backends()) {
    if (!backend.is_attached || !backend.has_blocks) continue;
    const Result<v1::RunnerDeviceList> found = LookForDevices(backend.kind, drivers, supervisor);
    if (found.ok()) {
      list.mutable_devices()->MergeFrom(found->devices());
    } else {
      list.add_missing(
          absl::StrCat("no ", backend.title, " device: ", std::string(found.status().message())));
    }
  }
  if (options.socket >= 0) return SendMessage(options.socket, list);
  Print(list);
  return absl::OkStatus();
}

}  // namespace mdh
