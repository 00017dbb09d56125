// Which results of a pipeline are samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "core/pipeline/pipeline.h"
#include "tuner/measure/results/demanded_points.h"

namespace mdh {

// Results of a pipeline, and what they are computed from. The pipeline must outlive it. Not
// thread-safe.
class ChosenResults {
 public:
  using Point = std::vector<int64_t>;

  // None yet; at most so many per output.
  ChosenResults(const Pipeline& pipeline, uint64_t seed, int64_t most_results);

  // Adds results until their cost (DemandedPoints::cost_ns) is as large as that, of each output in
  // turn.
  void AddUpTo(double most_ns);

  // Adds one result of an output, if it costs no more than that.
  void Add(size_t output, const Point& point, double most_ns) {
    AddOne(outputs_[output], point, most_ns);
  }

  const DemandedPoints& demanded() const { return demanded_; }
  // Per output of the pipeline: points of the step that writes it.
  const std::vector<Point>& PointsOf(size_t output) const { return outputs_[output].points; }
  bool is_empty() const;

 private:
  struct Output {
    int step;
    std::vector<int> kept;           // dimensions of the step with more than one index
    std::vector<bool> is_dear = {};  // per one of these: another index costs as much as any point
    double point_ns = 0;             // what one point costs, at most
    int64_t corners = 0, drawn = 0;
    int refused = 0;
    std::set<Point> met = {};
    std::vector<Point> points = {};
  };

  bool IsOpen(const Output& output) const;
  void AddFamily(Output& output, double most_ns);
  bool AddOne(Output& output, const Point& point, double most_ns);
  Point NextBase(Output& output);
  int64_t RandomIndex(const Output& output, int d);

  const Pipeline& pipeline_;
  const int64_t most_results_;
  std::mt19937_64 rng_;
  DemandedPoints demanded_;
  std::vector<Output> outputs_;
};

}  // namespace mdh
