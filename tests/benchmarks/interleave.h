// Times several implementations of one computation in turns, so that a change of the machine's
// speed during the run meets all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace mdh {

struct InterleaveOptions {
  int min_rounds = 9;
  int max_rounds = 61;
  int64_t duration_ns = 4'000'000'000;  // more rounds until then
  int64_t window_ns = 5'000'000;        // calls of one contender in one round take about this long
};

// times[c][r]: seconds per call of contender c in round r. In a round every contender is called
// once untimed, which brings its data and code back into the caches, and then timed over a window.
// The order of the contenders is another one in every round, so that none always comes after the
// one that leaves caches empty, which one call may not fill again.
std::vector<std::vector<double>> MeasureInterleaved(
    absl::Span<const std::function<void()>> contenders, const InterleaveOptions& options);

// `values` must not be empty.
double Median(std::vector<double> values);
// The value that this share of the others is not above. `values` must not be empty.
double Percentile(std::vector<double> values, double share);

// Median over the rounds of other / own.
double MedianRatio(absl::Span<const double> other, absl::Span<const double> own);

}  // namespace mdh
