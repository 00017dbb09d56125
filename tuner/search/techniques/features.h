// Configurations as points in which near ones are alike, for models of costs.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Each parameter with more than one value is a group of features, with distances of at most 1:
// numbers that span orders of magnitude by their logarithm, other ordered values by their value,
// strings by whether they are the same, permutations by the positions of their items. Immutable.
class FeatureMap {
 public:
  explicit FeatureMap(const SearchSpace& space);

  // Features of group n are group_start(n) up to group_start(n + 1).
  size_t groups() const { return starts_.size() - 1; }
  size_t group_start(size_t group) const { return starts_[group]; }
  size_t size() const { return starts_.back(); }
  std::vector<double> operator()(absl::Span<const int64_t> configuration) const;

 private:
  enum class Scale { kLinear, kLogarithm, kPosition, kCategory, kPermutation };
  struct Group {
    size_t parameter;
    Scale scale;
    double first;   // on the scale
    double extent;  // > 0
    size_t features;
  };
  static Group GroupOf(const Range& range);
  void AppendPermutation(const Group& group, int64_t code, std::vector<double>& features) const;

  std::vector<TuningParameter> parameters_;
  std::vector<Group> groups_;
  std::vector<size_t> starts_;
};

}  // namespace mdh
