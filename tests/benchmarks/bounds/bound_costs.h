// What it costs to ask for bounds, and to decide.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace mdh {

struct BoundCosts {
  std::string space = {};  // "matmul_1024 on a processor"
  std::string configurations = {};
  double step_ns = 0;      // a bound of what decisions leave, one decision after the other
  double describe_ns = 0;  // the values that remain of all parameters, counted, each with its bound
  double decided_ns = 0;   // the same once half of the parameters are decided
  size_t bytes = 0;        // of a partial configuration, at most, until everything is decided
};

// Of cases of tests/benchmarks/cases.json on a processor and on a GPU that is described in
// deploy/devices. Errors: NotFound, InvalidArgument, naming the file.
Result<std::vector<BoundCosts>> MeasureBoundCosts(const std::string& source_path);

// A table in Markdown.
std::string BoundCostsPage(const std::vector<BoundCosts>& costs);

}  // namespace mdh
