// What a search space consists of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuner/space/diagram/diagram.h"
#include "tuner/space/diagram/domains.h"
#include "tuner/space/lazy_space.h"
#include "tuner/space/position_codes.h"
#include "tuner/space/search_space.h"

namespace mdh {

class SearchSpace::Implementation {
 public:
  std::vector<TuningParameter> parameters;
  std::vector<Constraint> constraints;
  Domains restricted;  // empty: it was not
  std::vector<std::string> notices;
  std::vector<int> parameter_of_level;
  std::vector<int> level_of_parameter;
  std::vector<PositionCodes> codes;  // by parameter
  // One of the two.
  Diagram diagram;
  std::shared_ptr<const LazySpace> lazy;

  int depth() const { return static_cast<int>(parameters.size()); }

  // Positions by level; false if a code is not in its range.
  bool ToPositions(absl::Span<const int64_t> configuration, absl::Span<uint32_t> positions) const {
    for (int level = 0; level < depth(); ++level) {
      const int parameter = parameter_of_level[level];
      positions[level] = codes[parameter].PositionOf(configuration[parameter]);
      if (positions[level] == PositionCodes::kNone) return false;
    }
    return true;
  }

  // By level; PositionCodes::kNone of codes that are not in their range.
  std::vector<uint32_t> WantedPositions(absl::Span<const int64_t> codes_wanted) const {
    std::vector<uint32_t> positions;
    for (int parameter : parameter_of_level) {
      positions.push_back(codes[parameter].PositionOf(codes_wanted[parameter]));
    }
    return positions;
  }

  Domains AllPositions() const {
    std::vector<uint32_t> sizes;
    for (int parameter : parameter_of_level) sizes.push_back(codes[parameter].size());
    return Domains(std::move(sizes));
  }

  void ToCodes(absl::Span<const uint32_t> positions, absl::Span<int64_t> configuration) const {
    for (int level = 0; level < depth(); ++level) {
      const int parameter = parameter_of_level[level];
      configuration[parameter] = codes[parameter].CodeAt(positions[level]);
    }
  }

  Configuration ToConfiguration(absl::Span<const uint32_t> positions) const {
    Configuration configuration(parameters.size());
    ToCodes(positions, absl::MakeSpan(configuration));
    return configuration;
  }
};

// "'a' to {1, 2, 4}", no more than a few values. `names`: of values; empty: there are none.
std::string RestrictionText(const TuningParameter& parameter, const Domain& domain,
                            const std::vector<std::string>& names = {});

}  // namespace mdh
