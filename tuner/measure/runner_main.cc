// mdh-runner: compiles, runs, checks and times kernels for a daemon. Started by Runner::Start, and
// by FindDevices to see what there is.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/device/device_description.h"
#include "mdh/v1/runner.pb.h"
#include "proto/device_conversion.h"
#include "tuner/measure/compile/attached_device.h"
#include "tuner/measure/runner_process.h"
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

// Looks for all devices, each kind in a process of its own, and sends a RunnerDeviceList over the
// socket, or prints one line for each device and each kind that is missing if there is no socket.
// Errors: FailedPrecondition if this machine's CPU cannot be described; Unavailable if nobody wants
// the answer.
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

}  // namespace
}  // namespace mdh

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What the environment says of libraries and drivers in unusual places.
std::vector<std::string> DriverFolders() {
  std::vector<std::string> folders = {Variable("OCL_ICD_VENDORS"), Variable("OPENCL_VENDOR_PATH")};
  const std::string libraries = Variable("LD_LIBRARY_PATH");
  for (const absl::string_view folder : absl::StrSplit(libraries, ':', absl::SkipEmpty())) {
    folders.emplace_back(folder);
  }
  return folders;
}

}  // namespace

int main(int argc, char** argv) {
  mdh::RunnerProcessOptions options = {
      .path = Variable("PATH"), .cuda_root = Variable("CUDA_PATH"), .visible = DriverFolders()};
  bool list = false, is_right = true;
  for (int n = 1; n < argc; ++n) {
    absl::string_view option = argv[n];
    if (option == "--list") {
      list = true;
    } else {
      is_right = is_right && absl::ConsumePrefix(&option, "--socket-fd=") &&
                 absl::SimpleAtoi(option, &options.socket) && options.socket >= 0;
    }
  }
  if (!is_right || (!list && options.socket < 0)) {
    std::fprintf(stderr,
                 "mdh-runner measures kernels for mdhd, which starts it.\n"
                 "usage: mdh-runner --socket-fd=NUMBER\n"
                 "       mdh-runner --list    the devices that it finds\n");
    return 2;
  }
  const mdh::Status status = list ? mdh::ListDevices(options) : mdh::ServeRunnerRequests(options);
  // Without what runs at the end of programs: checkers for leaks trace the process, which one that
  // is confined does not allow.
  if (status.ok()) std::quick_exit(0);
  std::fprintf(stderr, "mdh-runner: %s\n", std::string(status.message()).c_str());
  return 1;
}
