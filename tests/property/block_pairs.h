// Random expressions with random configurations of the level-by-level lowering, and random
// pipelines of steps in all lowerings: generated code of a backend against the interpreter.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/property/block_backend.h"

namespace mdh {

struct BlockPairOptions {
  BackendOptions backend;
  int count = 100;
  uint64_t seed = 1;
  int first = 0;             // number of the first pair of that seed
  bool only_scans = false;   // expressions with prefix sums
  bool only_stores = false;  // expressions with store functions
  bool only_keyed = false;   // expressions whose results have keys
  bool only_units = false;   // contractions on matrix units
  bool pipelines = false;    // pipelines, one configuration per step, instead of expressions
  int processes = 2;         // 0: none of their own, for tools that watch this process
  int patience_s = 300;
  std::function<bool()> is_over = nullptr;  // see PoolOptions
};

struct BlockPairReport {
  int pairs = 0;  // judged
  int failures = 0;
  int without_configuration = 0;        // expressions with no valid configuration
  std::map<std::string, int> features;  // how many of the pairs have what
};

// The device that pairs would be judged on, found by a process of its own. Errors: why there is
// none.
Result<std::string> FindBackend(const BackendOptions& options);

// Calls `on_failure` with everything needed to reproduce a failing pair; one that crashes or hangs
// is a failure.
BlockPairReport JudgeBlockPairs(const BlockPairOptions& options,
                                const std::function<void(const std::string&)>& on_failure);

// "600 pairs on NAME: 0 failures, ..." and the features.
std::string Summary(const BlockPairReport& report, const std::string& device);

}  // namespace mdh
