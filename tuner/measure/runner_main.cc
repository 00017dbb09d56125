// mdh-runner: compiles, runs, checks and times kernels for a daemon. Started by Runner::Start, and
// by FindDevices to see what there is.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tuner/measure/device_list.h"
#include "tuner/measure/runner_process.h"

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
