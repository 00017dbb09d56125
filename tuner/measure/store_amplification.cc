#include "tuner/measure/store_amplification.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/expression/interpreter.h"
#include "tuner/measure/results/comparison.h"

namespace mdh {
namespace {

constexpr int kMostSamples = 32, kLeastSamples = 4;
constexpr double kGuess = 16, kMost = 1e4;
// The error whose effect is looked at: small, but large for what it is computed in.
constexpr double kStep = 0x1p-12;

using Values = std::vector<ScalarValue>;

struct Sample {
  std::vector<int64_t> point;
  Values results, stored;
};

double RootMeanSquare(const std::vector<Sample>& samples, Values Sample::*values, size_t n) {
  double squares = 0;
  for (const Sample& sample : samples) {
    const double value = (sample.*values)[n].as_double();
    if (std::isfinite(value)) squares += value * value;
  }
  return std::sqrt(squares / static_cast<double>(samples.size()));
}

std::vector<Sample> Draw(const Expression& expression, absl::Span<const std::byte* const> inputs,
                         const AmplificationOptions& options, int count) {
  std::mt19937_64 rng(options.seed);
  PointInterpreter interpreter(expression, inputs);
  std::vector<Sample> samples;
  for (int n = 0; n < count; ++n) {
    Sample sample;
    if (options.known_point) {
      sample.point = options.known_point(rng());
    } else {
      for (const Dimension& dimension : expression.dimensions()) {
        sample.point.push_back(static_cast<int64_t>(rng() % static_cast<uint64_t>(dimension.size)));
      }
    }
    sample.results = interpreter.ResultsAt(sample.point);
    sample.stored = StoredValues(expression, inputs, sample.point, sample.results);
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

StoreAmplification AmplificationOf(const Expression& expression,
                                   absl::Span<const std::byte* const> inputs,
                                   const AmplificationOptions& options) {
  if (expression.store() == nullptr || expression.is_empty()) return {};
  const double result_ns = options.point_ns * static_cast<double>(ReductionLength(expression));
  const double affordable = static_cast<double>(options.limit_ns) / result_ns;
  if (affordable < kLeastSamples) return {kGuess};
  const std::vector<Sample> samples = Draw(
      expression, inputs, options, static_cast<int>(std::min<double>(affordable, kMostSamples)));
  const size_t outputs = expression.stored().size();
  std::vector<double> changes(samples.size() * outputs, 0);
  StoreAmplification amplification;
  for (size_t r = 0; r < expression.function().results().size(); ++r) {
    const ScalarType type = expression.function().results()[r].type;
    const double scale = RootMeanSquare(samples, &Sample::results, r);
    amplification.scales.push_back(scale);
    if (!IsFloatingPoint(type)) continue;
    for (size_t s = 0; s < samples.size(); ++s) {
      Values near = samples[s].results;
      const double value = near[r].as_double();
      near[r] = ScalarValue::Real(near[r].type(), value + kStep * std::max(std::abs(value), scale));
      const Values stored = StoredValues(expression, inputs, samples[s].point, near);
      for (size_t n = 0; n < outputs; ++n) {
        const double change =
            std::abs(stored[n].as_double() - samples[s].stored[n].as_double()) / kStep;
        if (std::isfinite(change)) changes[s * outputs + n] += change;
      }
    }
  }
  double& factor = amplification.factor;
  for (size_t n = 0; n < outputs; ++n) {
    if (!IsFloatingPoint(expression.stored_type(static_cast<int>(n)))) continue;
    const double scale = RootMeanSquare(samples, &Sample::stored, n);
    for (size_t s = 0; s < samples.size(); ++s) {
      const double size = std::max(std::abs(samples[s].stored[n].as_double()), scale);
      if (size > 0) factor = std::max(factor, changes[s * outputs + n] / size);
    }
  }
  factor = std::min(factor, kMost);
  return amplification;
}

}  // namespace mdh
