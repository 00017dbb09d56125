// What bounds leave of recorded tables of costs (tests/benchmarks/recorded).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/search/recorded_costs.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/cost_estimate.h"

namespace mdh {

struct RecordedBounds {
  std::string name;
  int rows = 0;        // that did not fail
  int pinned = 0;      // of which all parameters are known, so that their bounds are their own
  int violations = 0;  // that were faster than their bounds
  int left = 0;        // whose bound does not show that they are no faster than the best
  double median = 0;   // of bound / cost
  double of_best = 0;  // bound / cost, geometric mean of the best hundredth

  double share_left() const { return rows == 0 ? 0 : static_cast<double>(left) / rows; }
};

// Folders of the sources: tables on which constants of models were chosen, and others, which say
// what these are worth elsewhere.
inline constexpr char kChosenOn[] = "tests/benchmarks/recorded";
inline constexpr char kHeldOut[] = "tests/benchmarks/recorded/held_out";

// Of every table in a folder. The tables are of a processor with AVX-512, two cores
// and a clock that was not written down: `clock_hz` is its limit. Parameters that a table has not
// are those nearest to the defaults with which most rows are in the space, for other rows those
// of the defaults, or any, as all rows allow.
// Errors: as ReadTables; NotFound for a table without a case.
Result<std::vector<RecordedBounds>> ReadRecordedBounds(const std::string& source_path,
                                                       const std::string& folder, double clock_hz);

// What rows of such a table cannot be faster than, for searches that are played on it: parameters
// that it has not may be anything. Errors: as above.
Result<std::shared_ptr<const CostBound>> BoundOfTable(const std::string& source_path,
                                                      const RecordedCosts& table, double clock_hz);

// What rows of such a table may cost by the cost models of the generator. Errors: as above.
Result<std::shared_ptr<const CostEstimate>> EstimateOfTable(const std::string& source_path,
                                                            const RecordedCosts& table,
                                                            double clock_hz);

// A table in Markdown, with the geometric mean of the shares that are left.
std::string RecordedBoundsPage(const std::vector<RecordedBounds>& tables);

}  // namespace mdh
