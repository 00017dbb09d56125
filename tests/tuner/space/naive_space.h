// The configurations of a space by looking at all combinations: the judge of search spaces.
#pragma once

#include <vector>

#include "tuner/space/search_space.h"

namespace mdh {

struct NaiveSpace {
  std::vector<Configuration> configurations;  // in the order of an odometer
  bool overflows = false;                     // whether a constraint left 64 bits somewhere
  bool divides_by_zero = false;
};

// Whether a configuration satisfies all constraints; what is undefined is not satisfied.
inline bool Satisfies(const std::vector<TuningParameter>& parameters,
                      const std::vector<Constraint>& constraints,
                      const Configuration& configuration, NaiveSpace& space) {
  bool satisfies = true;
  for (const Constraint& constraint : constraints) {
    const Result<Value> value = Evaluate(constraint.formula, parameters, configuration);
    if (!value.ok()) {
      (absl::IsOutOfRange(value.status()) ? space.overflows : space.divides_by_zero) = true;
    }
    satisfies &= value.ok() && std::get<bool>(*value);
  }
  return satisfies;
}

inline NaiveSpace EnumerateNaively(const std::vector<TuningParameter>& parameters,
                                   const std::vector<Constraint>& constraints) {
  NaiveSpace space;
  std::vector<uint32_t> positions(parameters.size());
  Configuration configuration;
  for (const TuningParameter& parameter : parameters) {
    configuration.push_back(parameter.range.CodeAt(0));
  }
  for (;;) {
    if (Satisfies(parameters, constraints, configuration, space)) {
      space.configurations.push_back(configuration);
    }
    size_t digit = parameters.size();
    while (digit > 0 && ++positions[digit - 1] == parameters[digit - 1].range.size()) {
      positions[--digit] = 0;
      configuration[digit] = parameters[digit].range.CodeAt(0);
    }
    if (digit == 0) return space;
    configuration[digit - 1] = parameters[digit - 1].range.CodeAt(positions[digit - 1]);
  }
}

}  // namespace mdh
