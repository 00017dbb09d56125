#include "tuner/search/techniques/features.h"

#include <algorithm>
#include <cmath>

namespace mdh {
namespace {

// Sets of strings with more values are told apart by position.
constexpr uint32_t kMaxCategories = 16;

}  // namespace

FeatureMap::FeatureMap(const SearchSpace& space) : parameters_(space.parameters()), starts_{0} {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].range.size() < 2) continue;
    groups_.push_back(GroupOf(parameters_[i].range));
    groups_.back().parameter = i;
    starts_.push_back(starts_.back() + groups_.back().features);
  }
}

FeatureMap::Group FeatureMap::GroupOf(const Range& range) {
  const double last = range.size() - 1;
  switch (range.type()) {
    case ValueType::kPermutation:
      return {0, Scale::kPermutation, 0, 1, range.items().size()};
    case ValueType::kString:
      if (range.size() <= kMaxCategories) return {0, Scale::kCategory, 0, 1, range.size()};
      return {0, Scale::kPosition, 0, last, 1};
    case ValueType::kReal:
      return {0, Scale::kPosition, 0, last, 1};
    case ValueType::kBool:
    case ValueType::kInteger:
      break;
  }
  if (!range.is_increasing()) return {0, Scale::kPosition, 0, last, 1};
  const auto smallest = static_cast<double>(range.CodeAt(0));
  const auto largest = static_cast<double>(range.CodeAt(range.size() - 1));
  if (smallest >= 1 && largest >= 4 * smallest) {
    return {0, Scale::kLogarithm, std::log2(smallest), std::log2(largest / smallest), 1};
  }
  return {0, Scale::kLinear, smallest, largest - smallest, 1};
}

std::vector<double> FeatureMap::operator()(absl::Span<const int64_t> configuration) const {
  std::vector<double> features;
  features.reserve(size());
  for (const Group& group : groups_) {
    const int64_t code = configuration[group.parameter];
    const auto number = static_cast<double>(code);
    switch (group.scale) {
      case Scale::kLinear:
        features.push_back((number - group.first) / group.extent);
        break;
      case Scale::kLogarithm:
        features.push_back((std::log2(number) - group.first) / group.extent);
        break;
      case Scale::kPosition: {
        const Range& range = parameters_[group.parameter].range;
        features.push_back(range.PositionOf(code).value_or(0) / group.extent);
        break;
      }
      case Scale::kCategory:
        for (size_t i = 0; i < group.features; ++i) {
          features.push_back(static_cast<size_t>(code) == i ? std::sqrt(0.5) : 0.0);
        }
        break;
      case Scale::kPermutation:
        AppendPermutation(group, code, features);
        break;
    }
  }
  return features;
}

void FeatureMap::AppendPermutation(const Group& group, int64_t code,
                                   std::vector<double>& features) const {
  const Range& range = parameters_[group.parameter].range;
  const auto order = std::get<std::vector<std::string>>(range.ValueOf(code));
  // Reversed orders are at distance 1: the squares of their differences sum to (n^3 - n) / 3.
  const auto n = static_cast<double>(order.size());
  const double scale = 1 / std::sqrt((n * n * n - n) / 3);
  for (const std::string& item : range.items()) {
    const auto at = std::ranges::find(order, item) - order.begin();
    features.push_back(static_cast<double>(at) * scale);
  }
}

}  // namespace mdh
