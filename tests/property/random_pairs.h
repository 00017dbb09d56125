// Random expressions with random valid configurations: generated code against the interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mdh {

struct PairOptions {
  int pairs = 500;
  uint64_t seed = 1;
  int first = 0;                    // number of the first pair of that seed
  int processes = 2;                // compilers and kernels at the same time
  bool only_tiles = false;          // products on tile registers, or what is near to these
  bool only_products = false;       // of matrices, with more dimensions, and of three operands
  bool only_pairs_of_rows = false;  // results that are equal to others
};

struct PairReport {
  int pairs = 0;  // judged
  int failures = 0;
  int without_configuration = 0;  // expressions for which no random configuration was found
};

// Calls `on_failure` with everything needed to reproduce a failing pair; one that crashes or hangs
// is a failure. The calling process must have a single thread.
PairReport JudgeRandomPairs(const PairOptions& options,
                            const std::function<void(const std::string&)>& on_failure);

}  // namespace mdh
