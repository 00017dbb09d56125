#include "tuner/measure/results/demanded_points.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace mdh {
namespace {

// Of one access, operation or combination.
constexpr double kInterpretedStepNs = 25;

bool IsCombined(const Expression& expression, int d) {
  return !expression.combine_operators()[d].is_concat();
}

bool DependsOn(const IndexFunction& access, int d) {
  return std::ranges::any_of(access.indices,
                             [&](const AffineIndex& index) { return index.coefficients[d] != 0; });
}

}  // namespace

double InterpretedPointNs(const Expression& expression) {
  const auto instructions = static_cast<double>(expression.function().instructions().size());
  const auto inputs = static_cast<double>(expression.inputs().size());
  return kInterpretedStepNs * (instructions + inputs + 1);
}

bool DemandedPoints::NumberSet::Add(int64_t number) {
  uint64_t& word = words_[number >> 6];
  const uint64_t bit = uint64_t{1} << (number & 63);
  if ((word & bit) != 0) return false;
  word |= bit;
  members_.push_back(number);
  return true;
}

void DemandedPoints::NumberSet::Shorten(size_t size) {
  for (; members_.size() > size; members_.pop_back()) {
    words_[members_.back() >> 6] &= ~(uint64_t{1} << (members_.back() & 63));
  }
}

DemandedPoints::DemandedPoints(const Pipeline& pipeline)
    : pipeline_(pipeline), buffers_(pipeline.buffers().size()) {
  for (const PipelineStep& step : pipeline.steps()) {
    const Expression& e = step.expression;
    NeededStep& needed = steps_.emplace_back();
    for (size_t b = 0; b < e.inputs().size(); ++b) {
      for (size_t a = 0; a < e.inputs()[b].accesses.size(); ++a) {
        Access access = {step.inputs[b], &e.inputs()[b], static_cast<int>(a), {}, false};
        for (int d = 0; d < e.rank(); ++d) {
          if (IsCombined(e, d) && DependsOn(access.view->accesses[a], d)) access.along.push_back(d);
        }
        needed.accesses.push_back(std::move(access));
      }
    }
    for (size_t b = 0; e.store() != nullptr && b < e.store()->inputs.size(); ++b) {
      const int passed = e.passed_store_input(static_cast<int>(b));
      const Buffer& view = e.store()->inputs[b];
      for (size_t a = 0; a < view.accesses.size(); ++a) {
        needed.accesses.push_back({step.inputs[passed], &view, static_cast<int>(a), {}, true});
      }
    }
    for (int n = 0; n < std::ssize(e.outputs()); ++n) needed.writers.emplace_back(e, n);
  }
}

int64_t DemandedPoints::CountOf(int step) const {
  return std::ssize(steps_[step].numbers.members());
}

absl::Span<const int64_t> DemandedPoints::PointOf(int step, int64_t n) const {
  const auto rank = static_cast<size_t>(pipeline_.steps()[step].expression.rank());
  return absl::MakeConstSpan(steps_[step].points).subspan(static_cast<size_t>(n) * rank, rank);
}

std::vector<absl::Span<const int64_t>> DemandedPoints::PointsOf(int step) const {
  std::vector<absl::Span<const int64_t>> points;
  for (int64_t n = 0; n < CountOf(step); ++n) points.push_back(PointOf(step, n));
  return points;
}

bool DemandedPoints::Add(int step, absl::Span<const int64_t> point, double most_ns) {
  std::vector<size_t> counts, elements;
  for (const NeededStep& needed : steps_) counts.push_back(needed.numbers.members().size());
  for (const NumberSet& buffer : buffers_) elements.push_back(buffer.members().size());
  const double cost_before_ns = cost_ns_;
  AddPoint(step, point);
  bool fits = true;
  // Whoever writes what a step reads comes before it.
  for (int s = step; s >= 0 && fits; --s) {
    for (int64_t n = static_cast<int64_t>(counts[s]); n < CountOf(s) && fits; ++n) {
      cost_ns_ += CostOf(s, PointOf(s, n));
      fits = cost_ns_ <= most_ns && Follow(s, PointOf(s, n));
    }
  }
  if (fits) return true;
  cost_ns_ = cost_before_ns;
  for (size_t s = 0; s < steps_.size(); ++s) {
    steps_[s].numbers.Shorten(counts[s]);
    steps_[s].points.resize(counts[s] *
                            static_cast<size_t>(pipeline_.steps()[s].expression.rank()));
  }
  for (size_t b = 0; b < buffers_.size(); ++b) buffers_[b].Shorten(elements[b]);
  return false;
}

void DemandedPoints::AddPoint(int step, absl::Span<const int64_t> point) {
  const Expression& e = pipeline_.steps()[step].expression;
  int64_t number = 0;
  for (int d = 0; d < e.rank(); ++d) {
    if (!e.is_reduction(d)) number = number * e.dimensions()[d].size + point[d];
  }
  NeededStep& needed = steps_[step];
  if (needed.numbers.Add(number)) {
    needed.points.insert(needed.points.end(), point.begin(), point.end());
  }
}

double DemandedPoints::CostOf(int step, absl::Span<const int64_t> point) const {
  const Expression& e = pipeline_.steps()[step].expression;
  double combined = 1;
  for (int d = 0; d < e.rank(); ++d) {
    if (e.is_reduction(d)) combined *= static_cast<double>(e.dimensions()[d].size);
    if (e.is_prefix_sum(d)) combined *= static_cast<double>(point[d] + 1);
  }
  return (combined + 1) * InterpretedPointNs(e);
}

bool DemandedPoints::Follow(int step, absl::Span<const int64_t> point) {
  const Expression& e = pipeline_.steps()[step].expression;
  // Points are added to other steps only, so that the span stays.
  return std::ranges::all_of(steps_[step].accesses, [&](const Access& access) {
    return (e.is_empty() && !access.is_of_store) || Read(access, point, e);
  });
}

bool DemandedPoints::Read(const Access& access, absl::Span<const int64_t> result,
                          const Expression& expression) {
  std::vector<int64_t> point(result.begin(), result.end());
  for (const int d : access.along) point[d] = 0;
  const auto advance = [&] {
    for (size_t n = access.along.size(); n-- > 0;) {
      const int d = access.along[n];
      const int64_t last =
          expression.is_prefix_sum(d) ? result[d] : expression.dimensions()[d].size - 1;
      if (point[d]++ < last) return true;
      point[d] = 0;
    }
    return false;
  };
  do {
    const int64_t element = access.view->ElementAt(access.number, point);
    if (element >= 0 && !Need(access.buffer, element)) return false;
  } while (advance());
  return true;
}

bool DemandedPoints::Need(int buffer, int64_t element) {
  if (!buffers_[buffer].Add(element)) return true;
  const int writer = pipeline_.writer(buffer);
  if (writer < 0) return true;
  const std::vector<int>& outputs = pipeline_.steps()[writer].outputs;
  const auto place = std::ranges::find(outputs, buffer) - outputs.begin();
  const Result<std::optional<std::vector<int64_t>>> point =
      steps_[writer].writers[static_cast<size_t>(place)].Find(element);
  if (!point.ok()) return false;
  if (point->has_value()) AddPoint(writer, **point);  // else it is zero
  return true;
}

}  // namespace mdh
