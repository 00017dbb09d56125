// What benchmarks report: the same form for every group.
#pragma once

#include <map>
#include <optional>
#include <string>
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
};

// One list of objects: case, metric, value, unit, peers, ratio_to_best_peer, floor, ratio_to_floor,
// correct; what is not known is null.
std::string ToJson(const std::vector<Figure>& figures);
// Errors: FailedPrecondition naming the file.
Status WriteJson(const std::vector<Figure>& figures, const std::string& path);

// For people: one row a figure.
std::string TableHeader();
std::string TableRow(const Figure& figure);

// "12.3 ms": three digits and a unit.
std::string FormatSeconds(double seconds);

}  // namespace mdh
