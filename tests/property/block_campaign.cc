// block_campaign --backend NAME [OPTION...] COUNT: judges COUNT random expressions with random
// configurations of the level-by-level lowering; prints what is needed to reproduce a failure, and
// a summary. Exit status 1 if there was a failure, 3 if there is no such device.
//   --backend NAME    openmp, opencl, cuda; nvrtc: compiled for sm_80 and sm_90, not run; ptx:
//                     OpenCL C for NVIDIA compiled by clang, not run
//   --platform NAME   of OpenCL: a part of the platform's name
//   --device N        number of the device on its platform
//   --seed S          of the random numbers, 1 unless told
//   --first N         number of the first pair of that seed, 0 unless told
//   --processes N     at the same time, 2 unless told; 0: in this process, for tools that watch it
//   --guards BYTES    around every buffer, 256 unless told; 0 for tools that watch accesses
//   --threads N       the most of a block
//   --only-scans 1    only expressions with prefix sums
//   --only-keyed 1    only expressions whose results have keys
//   --only-units 1    only contractions on matrix units, on backends with CUDA C++
//   --pipelines 1     pipelines of several steps, fused in some way, instead of expressions
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/property/block_pairs.h"

namespace {

using mdh::BlockPairOptions;

[[noreturn]] void Usage(const std::string& why) {
  std::fprintf(stderr,
               "block_campaign: error: %s\nusage: block_campaign --backend NAME [--platform NAME] "
               "[--device N] [--seed S] [--first N] [--processes N] [--guards BYTES] [--threads N] "
               "[--only-scans 1] [--only-keyed 1] [--only-stores 1] "
               "[--only-units 1] [--pipelines 1] COUNT\n",
               why.c_str());
  std::exit(2);
}

template <typename T>
T Number(const std::string& text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text[0] == '-') {
    Usage("'" + text + "' is no number");
  }
  return value;
}

BlockPairOptions Parse(int argc, char** argv) {
  BlockPairOptions options;
  options.count = 0;
  bool has_backend = false;
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    if (word.rfind("--", 0) != 0) {
      options.count = Number<int>(word);
      continue;
    }
    if (n + 1 == argc) Usage(word + " needs a value");
    const std::string value = argv[++n];
    if (word == "--backend") {
      const auto backend = mdh::BackendNamed(value);
      if (!backend.ok()) Usage(std::string(backend.status().message()));
      options.backend.backend = *backend;
      has_backend = true;
    } else if (word == "--platform") {
      options.backend.platform = value;
    } else if (word == "--device") {
      options.backend.device = Number<int>(value);
    } else if (word == "--seed") {
      options.seed = Number<uint64_t>(value);
    } else if (word == "--first") {
      options.first = Number<int>(value);
    } else if (word == "--processes") {
      options.processes = Number<int>(value);
    } else if (word == "--guards") {
      options.backend.guard_bytes = Number<int64_t>(value);
    } else if (word == "--threads") {
      options.backend.max_threads_per_block = Number<int>(value);
    } else if (word == "--only-scans") {
      options.only_scans = Number<int>(value) != 0;
    } else if (word == "--only-stores") {
      options.only_stores = Number<int>(value) != 0;
    } else if (word == "--only-units") {
      options.only_units = Number<int>(value) != 0;
    } else if (word == "--pipelines") {
      options.pipelines = Number<int>(value) != 0;
    } else if (word == "--only-keyed") {
      options.only_keyed = Number<int>(value) != 0;
    } else {
      Usage("unknown option '" + word + "'");
    }
  }
  if (!has_backend) Usage("--backend is missing");
  if (options.count < 1) Usage("COUNT is missing");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  BlockPairOptions options = Parse(argc, argv);
  const char* toolkit = std::getenv("CUDA_PATH");
  options.backend.toolkit_folders = mdh::Nvrtc::ToolkitFolders(toolkit != nullptr ? toolkit : "");
  // Thousands of kernels that nobody runs again: nothing of them should stay on disk.
  const mdh::TemporaryDirectory cache;
  setenv("POCL_CACHE_DIR", cache.path().c_str(), 0);
  setenv("CUDA_CACHE_DISABLE", "1", 0);
  std::string name = "this process";
  if (options.processes > 0) {
    const mdh::Result<std::string> found = mdh::FindBackend(options.backend);
    if (!found.ok()) {
      std::fprintf(stderr, "block_campaign: %s\n", std::string(found.status().message()).c_str());
      return 3;
    }
    name = *found;
  }
  const mdh::BlockPairReport report = mdh::JudgeBlockPairs(options, [](const std::string& failure) {
    std::printf("FAILED: %s\n", failure.c_str());
    std::fflush(stdout);
  });
  std::fputs(mdh::Summary(report, name).c_str(), stdout);
  return report.failures == 0 ? 0 : 1;
}
