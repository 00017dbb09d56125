// Tuning parameters of many trials as columns: one per number or choice that can vary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mdh {

// The values of one parameter; each different one is kept once.
struct ParameterColumn {
  std::string name;                 // "tile L1 j"
  std::vector<std::string> values;  // in the order of their first use
  std::vector<int> cells;           // per trial: which of the values, or -1: it has none
};

// What the parts of a parameter belong to.
struct ParameterNames {
  std::vector<std::string> dimensions;  // "i", "j", ...
  std::vector<std::string> inputs;      // of buffers
  std::vector<std::string> layers;      // of the system model, "MM", "L2", ...
};

// `texts`: parameters of trials as tuning_parameters.h prints them; what cannot be read leaves no
// values. Tables are taken apart: tiles by layer and dimension, orders by layer, what is said of
// inputs by input. Parameters that are the same in all trials are left out.
std::vector<ParameterColumn> SplitParameters(const std::vector<std::string>& texts,
                                             const ParameterNames& names);

}  // namespace mdh
