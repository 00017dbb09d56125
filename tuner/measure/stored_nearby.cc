#include "tuner/measure/stored_nearby.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace mdh {

StoredNearby::StoredNearby(const Expression& expression, std::vector<const std::byte*> inputs,
                           int output, Options options)
    : expression_(expression),
      inputs_(std::move(inputs)),
      output_(output),
      options_(std::move(options)),
      points_(expression, output) {}

std::vector<ScalarValue> StoredNearby::At(int64_t element, int field) {
  const std::pair<int64_t, int> place = {element, field};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(place); known != known_.end()) return known->second;
    if (std::ssize(known_) >= options_.most_elements) return {};
  }
  std::vector<ScalarValue> values = Compute(element, field);
  const std::lock_guard lock(mutex_);
  return known_.emplace(place, std::move(values)).first->second;
}

std::vector<ScalarValue> StoredNearby::Compute(int64_t element, int field) const {
  const Result<std::optional<std::vector<int64_t>>> point = points_.Find(element);
  if (!point.ok() || !point->has_value()) return {};
  const Buffer& buffer = expression_.outputs()[output_];
  int number = 0;  // of what is stored there
  const auto is_there = [&](int n) {
    const Expression::AccessRef at = expression_.output_access(n);
    return at.buffer == output_ && at.field == field &&
           buffer.ElementAt(at.access, **point) == element;
  };
  while (!is_there(number)) ++number;
  const std::vector<ScalarValue> results =
      ResultsAt(expression_, inputs_, **point, options_.accumulation);
  std::vector<ScalarValue> nearby;
  for (size_t r = 0; r < results.size(); ++r) {
    const ScalarType type = results[r].type();
    if (!IsFloatingPoint(type)) continue;
    const double value = results[r].as_double();
    const double error = options_.tolerances[static_cast<size_t>(number)] *
                         std::max(std::abs(value), options_.scales[r]);
    for (const double other : {value - error, value + error}) {
      std::vector<ScalarValue> near = results;
      near[r] = ScalarValue::Real(type, other);
      nearby.push_back(StoredValues(expression_, inputs_, **point,
                                    std::move(near))[static_cast<size_t>(number)]);
    }
  }
  return nearby;
}

}  // namespace mdh
