// mdh-runner: compiles, runs, checks and times kernels for a daemon. Started by Runner::Start.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tuner/measure/runner_process.h"

int main(int argc, char** argv) {
  int socket = -1;
  absl::string_view option = argc == 2 ? argv[1] : "";
  if (!absl::ConsumePrefix(&option, "--socket-fd=") || !absl::SimpleAtoi(option, &socket)) {
    std::fprintf(stderr,
                 "mdh-runner measures kernels for mdhd, which starts it; it is of no use by hand.\n"
                 "usage: mdh-runner --socket-fd=NUMBER\n");
    return 2;
  }
  const char* path = std::getenv("PATH");
  const mdh::Status status = mdh::ServeRunnerRequests(socket, path == nullptr ? "" : path);
  if (status.ok()) return 0;
  std::fprintf(stderr, "mdh-runner: %s\n", std::string(status.message()).c_str());
  return 1;
}
