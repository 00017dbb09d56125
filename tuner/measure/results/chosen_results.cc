#include "tuner/measure/results/chosen_results.h"

#include <algorithm>
#include <utility>

namespace mdh {
namespace {

constexpr size_t kMostKeptOfCorners = 6;
// Where points cost more than this part of one that has nothing in common with others, they are
// dear along the dimension in which they differ; else there are so many.
constexpr double kCheapPart = 0.25;
constexpr int kCheapPoints = 15;
// What is too expensive is tried so often: points of prefix sums differ.
constexpr int kMostRefused = 4;
// Where nearly all results are wanted some are met again and again.
constexpr int64_t kMostDrawsPerResult = 4;

}  // namespace

ChosenResults::ChosenResults(const Pipeline& pipeline, uint64_t seed, int64_t most_results)
    : pipeline_(pipeline), most_results_(most_results), rng_(seed), demanded_(pipeline) {
  for (const int b : pipeline.BuffersOf(PipelineBuffer::Role::kOutput)) {
    Output output = {.step = pipeline.writer(b), .kept = {}};
    const Expression& e = pipeline.steps()[output.step].expression;
    for (int d = 0; d < e.rank(); ++d) {
      if (!e.is_reduction(d) && e.dimensions()[d].size > 1) output.kept.push_back(d);
    }
    output.is_dear.assign(output.kept.size(), false);
    outputs_.push_back(std::move(output));
  }
}

bool ChosenResults::is_empty() const {
  return std::ranges::all_of(outputs_, [](const Output& output) { return output.points.empty(); });
}

bool ChosenResults::IsOpen(const Output& output) const {
  return pipeline_.steps()[output.step].expression.result_points() > 0 &&
         std::ssize(output.points) < most_results_ && output.refused < kMostRefused &&
         output.drawn < kMostDrawsPerResult * most_results_;
}

void ChosenResults::AddUpTo(double most_ns) {
  for (Output& output : outputs_) output.refused = 0;
  for (bool is_open = true; is_open;) {
    is_open = false;
    for (Output& output : outputs_) {
      if (!IsOpen(output)) continue;
      AddFamily(output, most_ns);
      is_open = true;
    }
  }
}

int64_t ChosenResults::RandomIndex(const Output& output, int d) {
  const auto size =
      static_cast<uint64_t>(pipeline_.steps()[output.step].expression.dimensions()[d].size);
  return static_cast<int64_t>(rng_() % size);
}

// A corner and a random point by turns.
ChosenResults::Point ChosenResults::NextBase(Output& output) {
  const Expression& e = pipeline_.steps()[output.step].expression;
  Point point(static_cast<size_t>(e.rank()), 0);
  const size_t cornered = std::min(output.kept.size(), kMostKeptOfCorners);
  const bool is_corner = output.drawn++ % 2 == 0 && output.corners < (int64_t{1} << cornered);
  for (size_t k = 0; k < output.kept.size(); ++k) {
    const int d = output.kept[k];
    const bool is_last = k < cornered && (output.corners >> k & 1) != 0;
    const int64_t of_corner = is_last ? e.dimensions()[d].size - 1 : 0;
    point[d] = is_corner ? of_corner : RandomIndex(output, d);
  }
  if (is_corner) ++output.corners;
  return point;
}

bool ChosenResults::AddOne(Output& output, const Point& point, double most_ns) {
  if (std::ssize(output.points) >= most_results_ || !output.met.insert(point).second) return false;
  if (demanded_.Add(output.step, point, most_ns)) {
    output.points.push_back(point);
    return true;
  }
  output.met.erase(point);
  ++output.refused;
  return false;
}

void ChosenResults::AddFamily(Output& output, double most_ns) {
  const Point base = NextBase(output);
  const double before_ns = demanded_.cost_ns();
  if (!AddOne(output, base, most_ns)) return;
  // Some have what they need already.
  output.point_ns = std::max(output.point_ns, demanded_.cost_ns() - before_ns);
  // Numbers of a row mostly lie along the last dimension.
  for (size_t k = output.kept.size(); k-- > 0;) {
    for (int n = 0; n < kCheapPoints && !output.is_dear[k]; ++n) {
      Point other = base;
      other[output.kept[k]] = RandomIndex(output, output.kept[k]);
      if (output.met.count(other) != 0) continue;
      const double without_ns = demanded_.cost_ns();
      if (!AddOne(output, other, most_ns)) break;
      output.is_dear[k] = demanded_.cost_ns() - without_ns > kCheapPart * output.point_ns;
    }
  }
}

}  // namespace mdh
