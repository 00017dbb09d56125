// mdh-runner: compiles, runs, checks and times kernels for a daemon. Started by Runner::Start, and
// by FindDevices to see what there is.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tuner/measure/device_list.h"
#include "tuner/measure/runner_process.h"

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  mdh::RunnerProcessOptions options = {.path = Variable("PATH"),
                                       .cuda_root = Variable("CUDA_PATH")};
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
  if (status.ok()) return 0;
  std::fprintf(stderr, "mdh-runner: %s\n", std::string(status.message()).c_str());
  return 1;
}
