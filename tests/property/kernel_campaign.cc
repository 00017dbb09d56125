// kernel_campaign [PAIRS [SEED [tiles|products|pairs] [sanitized] [first=N]]]: judges random pairs
// of expression and configuration, 5,000 unless told, or products on tile registers, or all kinds
// of products, or pairs of rows of one buffer, from number N of that seed on; `sanitized`: kernels
// under gcc's sanitizers; prints what is needed to reproduce a failure. Exit status 1 if there was
// one, 2 for a word that makes no sense, 3 if there are no sanitizers.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/memory/kernel_sanitizers.h"
#include "tests/property/random_pairs.h"

int main(int argc, char** argv) {
  mdh::PairOptions options;
  options.pairs = argc > 1 ? std::atoi(argv[1]) : 5000;
  options.seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  bool is_sanitized = false;
  for (int n = 3; n < argc; ++n) {
    const std::string_view word = argv[n];
    if (word == "tiles") {
      options.only_tiles = true;
    } else if (word == "products") {
      options.only_products = true;
    } else if (word == "pairs") {
      options.only_pairs_of_rows = true;
    } else if (word == "sanitized") {
      is_sanitized = true;
    } else if (word.substr(0, 6) == "first=") {
      options.first = std::atoi(argv[n] + 6);
    } else {
      std::fprintf(stderr, "kernel_campaign: what is '%s'?\n", argv[n]);
      return 2;
    }
  }
  if (const mdh::Status entered = is_sanitized ? mdh::EnterKernelSanitizers(argv) : mdh::Status();
      !entered.ok()) {
    std::fprintf(stderr, "kernel_campaign: %s\n", std::string(entered.message()).c_str());
    return 3;
  }
  const mdh::PairReport report = mdh::JudgeRandomPairs(
      options, [](const std::string& failure) { std::printf("FAILED: %s\n", failure.c_str()); });
  std::printf("%d pairs, %d failures, %d expressions without a configuration\n", report.pairs,
              report.failures, report.without_configuration);
  return report.failures == 0 ? 0 : 1;
}
