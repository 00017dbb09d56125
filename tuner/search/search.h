// A search: ask for configurations, tell what they cost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/search/cut.h"
#include "tuner/search/techniques/search_technique.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/cost_estimate.h"
#include "tuner/space/search_space.h"

namespace mdh {

struct SearchOptions {
  std::string technique = "auc_bandit";
  uint64_t seed = 1;
  // Proposal n is made from the results of those up to n - lookahead, in their order, whatever else
  // is known by then: so many can be evaluated at once, by any number of devices that finish in any
  // order, without a change of the trace. At least 1.
  int lookahead = 4;
  // Proposed first. Those that are not in the space are repaired to the nearest ones that are;
  // repeated ones are left out.
  std::vector<Configuration> start = {};
  // Of costs. What it shows to be no better than the best, or better by less than the share `gap`,
  // is not proposed, and the search ends once that is so of all of the space: techniques learn of
  // such proposals what is known, as if they had been evaluated. nullptr: everything is proposed.
  std::shared_ptr<const CostBound> bound = nullptr;
  double gap = 0;
  std::optional<double> incumbent = std::nullopt;  // a cost that is known from elsewhere
  // What costs may be, for models of costs to begin with. Nothing is left out because of it.
  std::shared_ptr<const CostEstimate> estimate = nullptr;
};

struct Proposal {
  int64_t number;  // 1, 2, ...
  Configuration configuration;
};

struct Evaluation {
  int64_t number;
  Configuration configuration;
  Cost cost;
};

// Start configurations are proposed whatever is known of them.
//
// Same space, options and costs: same proposals. So a search is resumed by telling a new one what
// the old one was told (in the order of numbers). Not thread-safe.
class Search {
 public:
  // Errors: NotFound (technique), InvalidArgument (lookahead, gap, sizes of start configurations).
  static Result<Search> Create(SearchSpace space, SearchOptions options);
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;
  ~Search();

  const SearchSpace& space() const;
  const SearchOptions& options() const;

  // Up to `count` configurations that nobody was asked for yet; fewer, or none, while lookahead
  // ones are untold, or once the space or the technique has no more.
  std::vector<Proposal> Ask(int count);
  // The cost of a proposal, in any order. Errors: NotFound for a number that was not asked for,
  // AlreadyExists if it was told before, InvalidArgument for a cost that is not finite.
  Status Tell(int64_t number, Cost cost);
  // Asked for and not told, in the order of their numbers.
  std::vector<Proposal> outstanding() const;
  // All was told and there is nothing more to ask for.
  bool is_exhausted();

  int64_t evaluations() const;        // told, failed ones included
  int64_t valid_evaluations() const;  // told with a cost
  // The smallest cost, the earliest of equal ones; nullopt before the first.
  const std::optional<Evaluation>& best() const;
  // Proposals that were rejected so far, and not tried since, as far as memory reaches.
  int64_t left_out() const;
  // What was proven by then of all that techniques know.
  CutFigures cut() const;

 private:
  struct State;
  explicit Search(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mdh
