// The cases of the paper's evaluation on a backend, with the configuration from rules, against the
// interpreter; and the decompositions of its Figures 20-23.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/expression/expression.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tests/property/block_backend.h"

namespace mdh {

struct CheckedCase {
  std::string id;
  BenchmarkCase problem;
  // Of a figure: its parameters, as text; they fix the problem's sizes.
  std::string figure_parameters;
};

// cases.json and, for the backend, the figures, from a folder laid out as the source tree, whose
// ids match the shell pattern. Errors: as LoadCases.
Result<std::vector<CheckedCase>> LoadCheckedCases(const std::string& folder, Backend backend,
                                                  const std::string& pattern);

struct CaseOptions {
  std::string folder;
  // Sizes are halved, the largest first, until there are at most so many points; 0: as they are.
  int64_t max_points = 0;
  int samples = 2000;  // results that are compared if there are too many to interpret all
};

// Compiles and runs one case. An empty string, or what is wrong and how to reproduce it: an
// output that differs from the interpreter's by more than measuring tolerates
// (tuner/measure/results/comparison.h), or any error.
std::string CheckCase(JudgedBackend& backend, const CheckedCase& checked,
                      const CaseOptions& options);

// Checks all cases in worker processes and calls `on_end` for each as it ends, with what is wrong.
// A case that crashes is wrong. Errors: as RunInWorkers.
Status CheckCases(const BackendOptions& backend, const std::vector<CheckedCase>& cases,
                  const CaseOptions& options, int processes,
                  const std::function<void(const CheckedCase&, const std::string&)>& on_end);

}  // namespace mdh
