// What the benchmarks of the service and of bundles report, and how it is written down.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace mdh {

struct ServiceFigure {
  std::string name;         // of the case
  double value = 0;         // median over the rounds
  std::string unit;         // "us", "1/s", "s", "bytes"
  std::string beside = "";  // what it is compared with; empty: nothing
  double beside_value = 0;  // median over the rounds
  double ratio = 0;         // median over the rounds of value / beside_value
  // What is asked of the ratio, or of the value if there is nothing beside.
  std::optional<double> at_most = {};
  std::optional<double> at_least = {};

  // nullopt if nothing is asked.
  std::optional<bool> holds() const;
};

std::string ServiceTable(const std::vector<ServiceFigure>& figures);
// What a page begins with.
struct ServicePage {
  std::string title;
  std::string remark;  // below the facts
};
// A page with the facts and the table; an object with `machine` and `rows`. `path` ends in ".json";
// the page goes beside it. Errors: FailedPrecondition, naming the file.
Status WriteServiceResults(const ServicePage& page, const std::vector<ServiceFigure>& figures,
                           const std::map<std::string, std::string>& facts,
                           const std::string& path);

}  // namespace mdh
