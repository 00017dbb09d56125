#include "core/schedule/decision.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace mdh {
namespace {

bool IsIn(const ValueSet::Span& span, const ChoiceValue& value) {
  if (value == span.low || value == span.high) {
    // The end of a range is in it only where steps lead there.
    if (value == span.low || value.size() != 1) return true;
  }
  if (value.size() != 1 || span.low.size() != 1) return false;
  const int64_t low = span.low[0], high = span.high[0], v = value[0];
  if (v < low || v > high) return false;
  if (!span.is_factor) return (v - low) % span.step == 0;
  for (int64_t at = low; at <= high; at *= span.step) {
    if (at == v) return true;
    if (at > high / span.step) return false;
  }
  return false;
}

}  // namespace

ValueSet::ValueSet(std::vector<Span> spans, bool is_negated)
    : spans_(std::move(spans)), is_negated_(is_negated) {
  std::ranges::sort(spans_, [](const Span& a, const Span& b) {
    return std::tie(a.low, a.high, a.step, a.is_factor) <
           std::tie(b.low, b.high, b.step, b.is_factor);
  });
  spans_.erase(std::unique(spans_.begin(), spans_.end()), spans_.end());
}

bool ValueSet::Contains(const ChoiceValue& value) const {
  return is_negated_ != std::ranges::any_of(spans_, [&](const Span& s) { return IsIn(s, value); });
}

std::vector<ChoiceValue> ValueSet::Named(size_t most) const {
  std::vector<ChoiceValue> values;
  if (is_negated_) return values;
  for (const Span& span : spans_) {
    if (span.low == span.high) {
      values.push_back(span.low);
      continue;
    }
    const int64_t high = span.high[0];
    int64_t at = span.low[0];
    for (size_t n = 0; n < most; ++n) {
      values.push_back({at});
      const bool is_last = span.is_factor ? at > high / span.step : at > high - span.step;
      if (is_last) break;
      at = span.is_factor ? at * span.step : at + span.step;
    }
  }
  return values;
}

}  // namespace mdh
