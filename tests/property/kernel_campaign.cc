// kernel_campaign [PAIRS [SEED [tiles]]]: judges random pairs of expression and configuration,
// 5,000 unless told, or products on tile registers; prints what is needed to reproduce a failure.
// Exit status 1 if there was one.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/property/random_pairs.h"

int main(int argc, char** argv) {
  mdh::PairOptions options;
  options.pairs = argc > 1 ? std::atoi(argv[1]) : 5000;
  options.seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  options.only_tiles = argc > 3 && std::string_view(argv[3]) == "tiles";
  const mdh::PairReport report = mdh::JudgeRandomPairs(
      options, [](const std::string& failure) { std::printf("FAILED: %s\n", failure.c_str()); });
  std::printf("%d pairs, %d failures, %d expressions without a configuration\n", report.pairs,
              report.failures, report.without_configuration);
  return report.failures == 0 ? 0 : 1;
}
