// What benchmarks report: the same form for every group.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace mdh {

struct Figure {
  std::string name;    // of the case
  std::string metric;  // "time"
  double value = 0;
  std::string unit;                     // "s"
  std::map<std::string, double> peers;  // the same metric of other libraries in the same run
  // Larger than 1: better than every peer. Median over the rounds of the ratio within a round.
  std::optional<double> ratio_to_best_peer;
  std::optional<double> floor;           // no implementation can be better, in `unit`
  std::optional<double> ratio_to_floor;  // floor / value; of rounds, their median
  bool correct = false;
  // What is known of the search: trials, tuning_s, default_ratio (the time of what was found
  // divided by that of the configuration from rules), time_to_90_s and time_to_95_s (until it had a
  // kernel of that share of its final speed).
  std::map<std::string, double> search = {};
};

// When a search had measured a kernel of that share of the speed of its fastest one. `trials`:
// times since its start and of kernels, both in nanoseconds; 0: it failed. 0 if all did.
double SecondsToShare(const std::vector<std::pair<int64_t, int64_t>>& trials, double share);

// One list of objects: case, metric, value, unit, peers, ratio_to_best_peer, floor, ratio_to_floor,
// correct, and what is known of the search; what is not known is null.
std::string ToJson(const std::vector<Figure>& figures);
// Errors: FailedPrecondition naming the file.
Status WriteJson(const std::vector<Figure>& figures, const std::string& path);

// For people: one row a figure.
std::string TableHeader();
std::string TableRow(const Figure& figure);

// "12.3 ms": three digits and a unit.
std::string FormatSeconds(double seconds);

}  // namespace mdh
