// Tables of costs, and the spaces of partial ones.
#include "tuner/search/recorded_costs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tuner/search/techniques/history.h"

namespace mdh {
namespace {

using Row = RecordedCosts::Row;

Status CheckRows(const SearchSpace& space, const std::vector<Row>& rows) {
  if (rows.empty()) return InvalidArgument("there are no costs");
  if (static_cast<int64_t>(rows.size()) > RecordedCosts::kMaxRows) {
    return InvalidArgument("there are more than ", RecordedCosts::kMaxRows, " rows");
  }
  absl::flat_hash_set<Configuration> seen;
  for (const Row& row : rows) {
    if (row.configuration.size() != space.parameters().size() ||
        !space.Contains(row.configuration)) {
      return InvalidArgument("a recorded configuration is not in the space");
    }
    const std::string text = space.ToText(row.configuration);
    if (!seen.insert(row.configuration).second) return InvalidArgument("recorded twice: ", text);
    if (row.cost && !std::isfinite(*row.cost)) {
      return InvalidArgument("the cost is not finite: ", text);
    }
  }
  return absl::OkStatus();
}

// A constraint per parameter: that the values up to it begin a recorded configuration. So prefixes
// that lead to none are left at once.
std::vector<Constraint> BeginningsOf(const std::vector<TuningParameter>& parameters,
                                     const std::vector<Row>& rows) {
  std::vector<Constraint> constraints;
  std::vector<std::string> names;
  for (size_t length = 1; length <= parameters.size(); ++length) {
    names.push_back(parameters[length - 1].name);
    auto beginnings = std::make_shared<absl::flat_hash_set<Configuration>>();
    for (const Row& row : rows) {
      beginnings->emplace(row.configuration.begin(),
                          row.configuration.begin() + static_cast<std::ptrdiff_t>(length));
    }
    Predicate predicate;
    predicate.text = absl::StrCat("recorded up to ", names.back());
    predicate.holds = [beginnings](absl::Span<const int64_t> codes) {
      return beginnings->contains(Configuration(codes.begin(), codes.end()));
    };
    constraints.push_back(Formula::Of(std::move(predicate), names));
  }
  return constraints;
}

}  // namespace

RecordedCosts::RecordedCosts(std::string name, SearchSpace whole, SearchSpace space,
                             std::vector<Cost> costs)
    : name_(std::move(name)),
      whole_(std::move(whole)),
      space_(std::move(space)),
      costs_(std::move(costs)) {
  for (const Cost& cost : costs_) {
    if (IsBetter(cost, best_)) best_ = cost;
  }
}

Result<RecordedCosts> RecordedCosts::Create(std::string name, const SearchSpace& space,
                                            std::vector<Row> rows) {
  MDH_RETURN_IF_ERROR(CheckRows(space, rows));
  const SpaceOptions options = {.order = ParameterOrder::kDeclared};
  // What the constraints say may be more than `space`, which can be restricted otherwise.
  MDH_ASSIGN_OR_RETURN(SearchSpace whole,
                       SearchSpace::Create(space.parameters(), space.constraints(), options));
  SearchSpace recorded = whole;
  if (whole.is_lazy() || whole.count() != Count(static_cast<unsigned long>(rows.size()))) {
    MDH_ASSIGN_OR_RETURN(
        recorded,
        SearchSpace::Create(space.parameters(), BeginningsOf(space.parameters(), rows), options));
    if (recorded.is_lazy()) return InvalidArgument("there are too many rows");
  }
  std::vector<Cost> costs(rows.size());
  for (const Row& row : rows) costs[*recorded.SmallIndexOf(row.configuration)] = row.cost;
  return RecordedCosts(std::move(name), std::move(whole), std::move(recorded), std::move(costs));
}

Cost RecordedCosts::CostOf(const Configuration& configuration) const {
  return costs_[*space_.SmallIndexOf(configuration)];
}

}  // namespace mdh
