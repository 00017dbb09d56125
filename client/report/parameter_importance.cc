#include "client/report/parameter_importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

constexpr size_t kFewestTrials = 8;
constexpr size_t kMostGroups = 8;

// Trials that are valid and have a value.
std::vector<int> Members(const ParameterColumn& column, const std::vector<int64_t>& times_ns) {
  std::vector<int> members;
  for (size_t n = 0; n < times_ns.size(); ++n) {
    if (times_ns[n] > 0 && column.cells[n] >= 0) members.push_back(static_cast<int>(n));
  }
  return members;
}

// The values as numbers; nullopt if one is none.
std::optional<std::vector<double>> AsNumbers(const ParameterColumn& column) {
  std::vector<double> numbers(column.values.size());
  for (size_t n = 0; n < numbers.size(); ++n) {
    if (!absl::SimpleAtod(column.values[n], &numbers[n])) return std::nullopt;
  }
  return numbers;
}

struct Group {
  std::string values;
  std::vector<int> members;
};

std::vector<Group> GroupByValue(const ParameterColumn& column, const std::vector<int>& members) {
  std::vector<Group> groups(column.values.size());
  for (size_t n = 0; n < groups.size(); ++n) groups[n].values = column.values[n];
  for (const int n : members) groups[column.cells[n]].members.push_back(n);
  std::erase_if(groups, [](const Group& group) { return group.members.empty(); });
  return groups;
}

// Groups of neighbouring values, of about as many members each; equal values stay together.
std::vector<Group> MergeNeighbours(const std::vector<Group>& sorted, size_t members) {
  std::vector<Group> merged;
  size_t before = 0;  // members of earlier values
  size_t last_bin = kMostGroups;
  for (const Group& group : sorted) {
    const size_t bin = before * kMostGroups / members;
    if (bin != last_bin) merged.push_back({group.values, {}});
    last_bin = bin;
    Group& target = merged.back();
    target.members.insert(target.members.end(), group.members.begin(), group.members.end());
    const std::string first = target.values.substr(0, target.values.find(' '));
    target.values = first == group.values ? first : absl::StrCat(first, " to ", group.values);
    before += group.members.size();
  }
  return merged;
}

std::vector<Group> MakeGroups(const ParameterColumn& column, const std::vector<int>& members) {
  std::vector<Group> groups = GroupByValue(column, members);
  if (!AsNumbers(column).has_value()) return groups;
  std::ranges::sort(groups, [](const Group& a, const Group& b) {
    return std::stod(a.values) < std::stod(b.values);
  });
  return groups.size() > kMostGroups ? MergeNeighbours(groups, members.size()) : groups;
}

double SquaresAround(const std::vector<double>& values, double mean) {
  return std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) {
    return sum + (value - mean) * (value - mean);
  });
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double EpsilonSquared(const std::vector<Group>& groups, const std::vector<int64_t>& times_ns) {
  std::vector<double> all;
  double within = 0;
  for (const Group& group : groups) {
    std::vector<double> logs;
    for (const int n : group.members) logs.push_back(std::log(static_cast<double>(times_ns[n])));
    within += SquaresAround(logs, Mean(logs));
    all.insert(all.end(), logs.begin(), logs.end());
  }
  const double total = SquaresAround(all, Mean(all));
  const auto count = static_cast<double>(all.size()), k = static_cast<double>(groups.size());
  if (total <= 0 || count <= k) return 0;
  const double between = total - within;
  return std::clamp((between - (k - 1) * within / (count - k)) / total, 0.0, 1.0);
}

ParameterGroup Describe(const Group& group, const std::vector<int64_t>& times_ns) {
  std::vector<int64_t> times;
  for (const int n : group.members) times.push_back(times_ns[n]);
  const auto middle = times.begin() + static_cast<int64_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return {group.values, static_cast<int64_t>(times.size()), *middle};
}

}  // namespace

std::vector<ParameterImportance> RankParameters(const std::vector<ParameterColumn>& columns,
                                                const std::vector<int64_t>& times_ns) {
  std::vector<ParameterImportance> ranking;
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::vector<int> members = Members(columns[c], times_ns);
    if (members.size() < kFewestTrials) continue;
    const std::vector<Group> groups = MakeGroups(columns[c], members);
    const double share = groups.size() < 2 ? 0 : EpsilonSquared(groups, times_ns);
    if (share <= 0) continue;
    ranking.push_back({static_cast<int>(c), share, {}});
    for (const Group& group : groups) ranking.back().groups.push_back(Describe(group, times_ns));
  }
  std::ranges::stable_sort(ranking, std::ranges::greater{}, &ParameterImportance::share);
  return ranking;
}

}  // namespace mdh
