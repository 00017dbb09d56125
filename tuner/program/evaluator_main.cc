// mdh-evaluator: evaluates candidates of programs. A program of its own with few libraries, since
// drivers for OpenCL bring their own version of LLVM, which must not meet another one.
#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tuner/program/evaluation_worker.h"

namespace {

// False if `argument` is no option of this program.
bool ReadOption(absl::string_view argument, mdh::WorkerOptions& options) {
  if (absl::ConsumePrefix(&argument, "--socket-fd=")) {
    return absl::SimpleAtoi(argument, &options.socket) && options.socket >= 0;
  }
  if (absl::ConsumePrefix(&argument, "--folder=")) {
    options.folder = std::string(argument);
    return !options.folder.empty();
  }
  if (absl::ConsumePrefix(&argument, "--cuda-path=")) {
    options.devices.cuda_root = std::string(argument);
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  mdh::WorkerOptions options;
  bool is_right = true;
  for (int n = 1; n < argc; ++n) is_right = is_right && ReadOption(argv[n], options);
  if (!is_right || options.socket < 0 || options.folder.empty()) {
    std::fprintf(
        stderr,
        "mdh-evaluator runs candidates for mdh, which starts it; it is of no use by hand.\n"
        "usage: mdh-evaluator --socket-fd=NUMBER --folder=FOLDER [--cuda-path=FOLDER]\n");
    return 2;
  }
  const mdh::Status status = mdh::ServeEvaluations(options);
  std::fprintf(stderr, "mdh-evaluator: %s\n", std::string(status.message()).c_str());
  return 1;
}
