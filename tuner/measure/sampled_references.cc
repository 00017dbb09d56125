#include "tuner/measure/sampled_references.h"

#include <algorithm>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "core/base/allowed_cores.h"
#include "core/base/start_thread.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

constexpr size_t kMostCorners = 64;
constexpr size_t kMostSamplingThreads = 16;

// All of them, in lexicographic order, of an expression that has a point.
std::vector<std::vector<int64_t>> AllResultPoints(const Expression& expression) {
  std::vector<std::vector<int64_t>> points;
  std::vector<int64_t> index(static_cast<size_t>(expression.rank()), 0);
  while (true) {
    points.push_back(index);
    int d = expression.rank() - 1;
    for (; d >= 0; --d) {
      if (expression.is_reduction(d)) continue;
      if (++index[d] < expression.dimensions()[d].size) break;
      index[d] = 0;
    }
    if (d < 0) return points;
  }
}

// Index tuples of results, 0 in the reduced dimensions: corners, then random ones; all different.
std::vector<std::vector<int64_t>> ResultPoints(const Expression& expression,
                                               const SampleOptions& options) {
  std::vector<int> kept;
  double results = 1;
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_reduction(d)) continue;
    kept.push_back(d);
    results *= static_cast<double>(expression.dimensions()[d].size);
  }
  if (results <= static_cast<double>(options.most_results)) return AllResultPoints(expression);
  std::vector<std::vector<int64_t>> points;
  const auto wanted = static_cast<size_t>(options.most_results);
  const size_t corners = kept.size() < 6 ? size_t{1} << kept.size() : kMostCorners;
  std::mt19937_64 rng(options.seed);
  std::set<std::vector<int64_t>> met;
  // Where nearly all results are wanted some are met again and again.
  for (size_t n = 0; points.size() < wanted && n < 4 * wanted + corners; ++n) {
    std::vector<int64_t> point(static_cast<size_t>(expression.rank()), 0);
    for (size_t k = 0; k < kept.size(); ++k) {
      const auto size = static_cast<uint64_t>(expression.dimensions()[kept[k]].size);
      const bool is_last = k < 6 && (n >> k & 1) != 0;
      point[kept[k]] = static_cast<int64_t>(n < corners ? (is_last ? size - 1 : 0) : rng() % size);
    }
    if (met.insert(point).second) points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

std::vector<ReferenceBuffer> SampleReferences(const Expression& expression,
                                              absl::Span<const std::byte* const> inputs,
                                              const SampleOptions& options, double tolerance,
                                              double amplification) {
  const int64_t start_ns = NowNs();
  const double result_ns = static_cast<double>(ReductionLength(expression)) * options.point_ns;
  std::vector<std::vector<int64_t>> points;
  if (result_ns <= static_cast<double>(options.time_limit_ns)) {
    points = ResultPoints(expression, options);
  }
  std::vector<std::vector<ScalarValue>> values(points.size());
  const size_t threads = std::min({AllowedCores().size(), kMostSamplingThreads, points.size()});
  const auto work = [&](size_t first) {
    for (size_t p = first; p < points.size(); p += threads) {
      const auto elapsed_ns = static_cast<double>(NowNs() - start_ns);
      if (p >= threads && elapsed_ns + result_ns > static_cast<double>(options.time_limit_ns))
        break;
      values[p] = InterpretAt(expression, inputs, points[p], options.accumulation);
    }
  };
  std::vector<std::thread> helpers;
  for (size_t t = 1; t < threads; ++t) {
    Result<std::thread> helper = StartThread([&work, t] { work(t); });
    if (helper.ok()) {
      helpers.push_back(*std::move(helper));
    } else {
      work(t);
    }
  }
  if (threads > 0) work(0);
  for (std::thread& helper : helpers) helper.join();

  std::vector<std::vector<ReferenceSample>> samples(expression.outputs().size());
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t r = 0; r < values[p].size(); ++r) {
      const Expression::AccessRef at = expression.output_access(static_cast<int>(r));
      const Buffer& buffer = expression.outputs()[at.buffer];
      samples[at.buffer].push_back(
          {buffer.ElementAt(at.access, points[p]), at.field, values[p][r]});
    }
  }
  std::vector<ReferenceBuffer> references;
  for (size_t b = 0; b < samples.size(); ++b) {
    references.push_back(MakeSampledReference(expression, static_cast<int>(b),
                                              std::move(samples[b]), tolerance, amplification,
                                              options.distinct, options.numerics));
  }
  return references;
}

ReferenceBuffer SampleResult(const Expression& expression,
                             absl::Span<const std::byte* const> inputs, int output,
                             absl::Span<const int64_t> point, Accumulation accumulation) {
  const std::vector<ScalarValue> values = InterpretAt(expression, inputs, point, accumulation);
  std::vector<ReferenceSample> samples;
  for (size_t r = 0; r < values.size(); ++r) {
    const Expression::AccessRef at = expression.output_access(static_cast<int>(r));
    if (at.buffer != output) continue;
    const Buffer& buffer = expression.outputs()[output];
    samples.push_back({buffer.ElementAt(at.access, point), at.field, values[r]});
  }
  return MakeSampledReference(expression, output, std::move(samples));
}

}  // namespace mdh
