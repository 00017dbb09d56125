// block_campaign --backend NAME [OPTION...] COUNT: judges COUNT random expressions with random
// configurations of the level-by-level lowering; prints what is needed to reproduce a failure, and
// a summary; `--help` has the options. SIGINT and SIGTERM, and --seconds, end it with a summary of
// what was judged until then; in a single process SIGTERM does, while compilers run. Exit status 1
// if there was a failure, 2 for a call that makes no sense, 3 if there is no such device or there
// are no sanitizers, 128 + N after signal N.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/memory/kernel_sanitizers.h"
#include "tests/property/block_pairs.h"

namespace {

using Clock = std::chrono::steady_clock;

volatile sig_atomic_t last_signal = 0;

void EndWithSummary() {
  struct sigaction action = {};
  action.sa_handler = [](int number) { last_signal = number; };
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

struct Campaign {
  mdh::BlockPairOptions pairs = {};
  std::string backend;
  int64_t seconds = 0;
  bool is_sanitized = false;
};

// The exit status where there is nothing to judge.
std::optional<int> Parse(int argc, char** argv, Campaign& campaign) {
  mdh::BlockPairOptions& pairs = campaign.pairs;
  CLI::App app{"Judges random expressions with random configurations against the interpreter."};
  app.add_option(
         "--backend", campaign.backend,
         "openmp, opencl, cuda; nvrtc: compiled for sm_80 and sm_90, not run; ptx: OpenCL C "
         "for NVIDIA compiled by clang, not run")
      ->required();
  app.add_option("--platform", pairs.backend.platform, "of OpenCL: a part of the platform's name");
  app.add_option("--device", pairs.backend.device, "its number on the platform")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", pairs.seed, "of the random numbers")->capture_default_str();
  app.add_option("--first", pairs.first, "number of the first pair of that seed")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seconds", campaign.seconds, "to end after, with what there is")
      ->check(CLI::PositiveNumber);
  app.add_option("--processes", pairs.processes,
                 "at the same time; 0: in this process, for tools that watch it")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--guards", pairs.backend.guard_bytes,
                 "bytes around every buffer; 0 for tools that watch accesses")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", pairs.backend.max_threads_per_block, "the most of a block")
      ->check(CLI::PositiveNumber);
  app.add_option("--only-scans", pairs.only_scans, "1: only expressions with prefix sums");
  app.add_option("--only-stores", pairs.only_stores, "1: only expressions with store functions");
  app.add_option("--only-keyed", pairs.only_keyed, "1: only expressions whose results have keys");
  app.add_option("--only-units", pairs.only_units,
                 "1: only contractions on matrix units, on backends with CUDA C++");
  app.add_option("--pipelines", pairs.pipelines,
                 "1: pipelines of several steps, fused in some way, instead of expressions");
  app.add_option("--sanitized", campaign.is_sanitized,
                 "1: openmp: kernels under gcc's sanitizers of addresses and undefined behaviour");
  app.add_option("COUNT", pairs.count, "expressions")->required()->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
    const auto backend = mdh::BackendNamed(campaign.backend);
    if (!backend.ok()) throw CLI::ValidationError(std::string(backend.status().message()));
    pairs.backend.backend = *backend;
    if (campaign.is_sanitized && *backend != mdh::Backend::kOpenMp) {
      throw CLI::ValidationError("--sanitized: only openmp has sanitizers");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  Campaign campaign;
  if (const std::optional<int> status = Parse(argc, argv, campaign)) return *status;
  if (const mdh::Status entered =
          campaign.is_sanitized ? mdh::EnterKernelSanitizers(argv) : mdh::Status();
      !entered.ok()) {
    std::fprintf(stderr, "block_campaign: %s\n", std::string(entered.message()).c_str());
    return 3;
  }
  mdh::BlockPairOptions& options = campaign.pairs;
  const Clock::time_point start = Clock::now();
  options.is_over = [&] {
    const bool is_late =
        campaign.seconds > 0 && Clock::now() - start > std::chrono::seconds(campaign.seconds);
    return last_signal != 0 || is_late;
  };
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
  EndWithSummary();
  const mdh::BlockPairReport report = mdh::JudgeBlockPairs(options, [](const std::string& failure) {
    std::printf("FAILED: %s\n", failure.c_str());
    std::fflush(stdout);
  });
  std::fputs(mdh::Summary(report, name).c_str(), stdout);
  if (last_signal != 0) return 128 + last_signal;
  return report.failures == 0 ? 0 : 1;
}
