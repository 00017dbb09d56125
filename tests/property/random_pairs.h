// Random expressions with random valid configurations: generated code against the interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mdh {

struct PairOptions {
  int pairs = 500;
  uint64_t seed = 1;
  int processes = 2;        // compilers and kernels at the same time
  bool only_tiles = false;  // products on tile registers, or what is near to these
};

struct PairReport {
  int pairs = 0;  // judged
  int failures = 0;
  int without_configuration = 0;  // expressions for which no random configuration was found
};

// Calls `on_failure` with everything needed to reproduce a failing pair.
PairReport JudgeRandomPairs(const PairOptions& options,
                            const std::function<void(const std::string&)>& on_failure);

}  // namespace mdh
