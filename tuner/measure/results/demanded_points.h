// Which points of the steps of a pipeline some of its results are computed from: what has to be
// computed where computing all of it takes too long.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/pipeline/pipeline.h"
#include "tuner/measure/results/output_points.h"

namespace mdh {

// Roughly what the interpreter takes for one point of an expression.
double InterpretedPointNs(const Expression& expression);

// Sets of points and of elements, found backwards from results through the views of the steps: a
// result needs what its accesses read along all dimensions that it combines, and an element of a
// buffer between steps needs the point that writes it. What is needed several times is in it once.
// Not thread-safe.
class DemandedPoints {
 public:
  // Nothing yet. The pipeline must outlive it.
  explicit DemandedPoints(const Pipeline& pipeline);

  // Adds a result of a step, and what it is computed from. `point`: one index per dimension of the
  // step, 0 in reduced ones. False, and nothing is added, if all of it would cost more than
  // `most_ns`, or if it cannot be found out what writes an element.
  bool Add(int step, absl::Span<const int64_t> point, double most_ns);

  // Roughly what the interpreter takes for all of it.
  double cost_ns() const { return cost_ns_; }
  // The results of a step that are needed, in the order in which they were found.
  int64_t CountOf(int step) const;
  absl::Span<const int64_t> PointOf(int step, int64_t n) const;
  std::vector<absl::Span<const int64_t>> PointsOf(int step) const;
  // The elements of a buffer that are needed.
  const std::vector<int64_t>& ElementsOf(int buffer) const { return buffers_[buffer].members(); }

 private:
  // Numbers in the order in which they were added.
  class NumberSet {
   public:
    bool Add(int64_t number);  // whether it is new
    void Shorten(size_t size);
    const std::vector<int64_t>& members() const { return members_; }

   private:
    std::vector<int64_t> members_;
    absl::flat_hash_map<int64_t, uint64_t> words_;  // neighbours are needed together
  };
  struct Access {
    int buffer;  // of the pipeline
    const Buffer* view;
    int number;              // of its accesses
    std::vector<int> along;  // dimensions that are combined and change what is read
    bool is_of_store;        // at the result's point, once
  };
  struct NeededStep {
    std::vector<Access> accesses;
    std::vector<OutputPoints> writers;  // per output
    std::vector<int64_t> points;        // flat
    NumberSet numbers;                  // of these points
  };

  void AddPoint(int step, absl::Span<const int64_t> point);
  double CostOf(int step, absl::Span<const int64_t> point) const;
  bool Follow(int step, absl::Span<const int64_t> point);
  bool Read(const Access& access, absl::Span<const int64_t> result, const Expression& expression);
  bool Need(int buffer, int64_t element);

  const Pipeline& pipeline_;
  std::vector<NeededStep> steps_;
  std::vector<NumberSet> buffers_;
  double cost_ns_ = 0;
};

}  // namespace mdh
