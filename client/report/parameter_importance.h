// Which parameters the times of trials depend on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/report/parameter_columns.h"

namespace mdh {

struct ParameterGroup {
  std::string values;  // "64", or "16 to 64" of numbers that were put together
  int64_t trials;
  int64_t median_ns;
};

struct ParameterImportance {
  int column;                          // of the parameters
  double share;                        // of the variance that it explains, 0 to 1
  std::vector<ParameterGroup> groups;  // in the order of numbers, or of first use
};

// For every parameter with at least two values: the share of the variance of log(time) that it
// explains by itself, as epsilon squared of a one-way analysis of variance, so that many values
// explain nothing by chance. Numbers with more than 8 different values are put into 8 groups of
// equally many trials. The largest share first; those of no share are left out. `times_ns`: per
// trial; 0 of failed ones, which do not count. Empty for fewer than 8 valid trials.
std::vector<ParameterImportance> RankParameters(const std::vector<ParameterColumn>& columns,
                                                const std::vector<int64_t>& times_ns);

}  // namespace mdh
