// Bounds against measurements: random configurations of expressions, every prefix of several orders
// of decisions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

struct BoundCheckOptions {
  std::string runner;          // path of mdh-runner
  std::string work_directory;  // of the runners, in folders of their own
  std::string device = "cpu";  // as RunnerOptions::device
  std::string sources;         // the root of the sources, whose expressions are taken
  int count = 100;             // configurations to measure
  int each = 100;              // to draw of one expression
  int picks = 1;               // of which each is the most dangerous of so many that are drawn
  int climbs = 0;              // then so many times as many, near to what its bound is nearest to
  int64_t points = 1'000'000;  // of an expression, at most
  uint64_t seed = 1;
  int64_t expression_seconds = 0;  // no more is drawn of one after so many; 0: no limit
  int64_t compile_seconds = 10;    // of a kernel at most; what takes longer is not measured
  // Of a kernel with loops unrolled, at most (UnrolledLines): what has more is drawn again, as
  // compilers take as long. 0: no limit.
  int64_t lines = 0;
  // Whether rates know what the device reaches, which takes a while to measure; else they are those
  // of its description alone.
  bool has_peaks = true;
  // File with what the device reaches, which is not measured then; it is written if it is not
  // there. Empty: none. Other processes may use the same one.
  std::string known_peaks;
  int64_t seconds = 0;  // after so many no more is begun, and what runs is given up; 0: no limit
  // Expressions under way at the same time; 0: one on hosts, and on other devices up to four. On
  // hosts each has as many cores alone, which its device is, and for whose number peaks are
  // measured. What takes less than four times its bound is measured again: on hosts on these cores,
  // on other devices while nothing else runs.
  int runners = 0;
  // Told after each expression: what came of it, and of all so far.
  std::function<void(const std::string&)> on_expression = nullptr;
};

struct BoundCheckReport {
  std::string device;
  int expressions = 0;
  int64_t configurations = 0;  // drawn
  int64_t measured = 0;        // right, and timed
  int64_t bounds = 0;          // of prefixes
  int64_t violations = 0;      // a bound was above the fastest call, twice
  int64_t drops = 0;           // a bound fell along a decision
  double bound_ns = 0;         // that a bound takes, on average
  double compiled_s = 0;       // that compilers took, one after the other
  // Seconds of all expressions together: until there are kernels, inputs and references; until the
  // kernels are measured; of judging.
  double prepared_s = 0, measured_s = 0, judged_s = 0;
  // By configuration: bound / time of the configuration, and of the whole problem; ascending.
  std::vector<double> shares, problem_shares;
};

// An expression that ships with the project, `name`, with random sizes of so many points at most.
// Errors: those of its parser.
Result<Expression> RandomlySized(const std::string& sources, const std::string& name,
                                 int64_t points, uint64_t seed);

// What a seed draws is always the same; which of it is measured depends on how many runners there
// are. Ends early, with what there is, when the time is over, or if hardly any configuration can be
// measured. Calls `on_failure` with all that is needed to repeat what is wrong. Errors: those of
// Runner::Start; a runner that gives up.
Result<BoundCheckReport> CheckBounds(const BoundCheckOptions& options,
                                     const std::function<void(const std::string&)>& on_failure);

// "100 configurations of 10 expressions on NAME: 0 violations, ..."
std::string Summary(const BoundCheckReport& report);

}  // namespace mdh
