// Values of a parameter that divisibility allows, so that its range need not be scanned.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tuner/space/constraints/operation_graph.h"
#include "tuner/space/constraints/parameter_values.h"

namespace mdh {

// The parameter's value divides the value of an operation, or is a multiple of it.
struct Factor {
  int of;
  bool is_divisor;
};

// What a condition implies for the integer parameter `leaf`, where operations that are known before
// the parameter have values.
std::vector<Factor> FindFactors(const OperationGraph& graph, int condition, int leaf,
                                const std::vector<bool>& is_known);

// Not thread-safe.
class FactorPositions {
 public:
  // Larger numbers are not taken apart.
  static constexpr int64_t kMaxFactor = int64_t{1} << 60;

  // Positions of all values that a factor leaves, increasing, and that of 0 for divisors; nullopt
  // if it would take longer to tell than to look at so many positions. Expects increasing integers.
  std::optional<std::vector<uint32_t>> Of(const Factor& factor, ValueKind kind, const Bounds& value,
                                          const ParameterValues& values, double positions);

 private:
  const std::vector<int64_t>& DivisorsOf(int64_t value);

  absl::flat_hash_map<int64_t, std::vector<int64_t>> divisors_;
};

}  // namespace mdh
