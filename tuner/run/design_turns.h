// The search among designs for threads that compute themselves and that among configurations of
// matrix units, in turns.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "tuner/run/design_search.h"
#include "tuner/run/first_points.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/unit_search.h"

namespace mdh {

// Refers to what the target refers to.
class DesignTurns {
 public:
  // `from_rules`: the configuration that rules give.
  DesignTurns(const SearchTarget& target, const TuningParameters& from_rules);
  DesignTurns(const DesignTurns&) = delete;
  DesignTurns& operator=(const DesignTurns&) = delete;
  ~DesignTurns();

  // Whether one of them has something left.
  bool HasMore();
  // What the one whose turn it is asks for, as a candidate without code; nullopt: it has to hear of
  // what is in work first. `is_idle`: nothing is in work.
  std::optional<Candidate> Next(bool is_idle);
  // What was measured, also of candidates that neither asked for. A kernel that another design was
  // asked for before tells nothing of a design; one that was measured for another reason, as that
  // from rules is, tells what it took.
  void Tell(const Candidate& candidate);

 private:
  bool HasDesigns();
  std::optional<Candidate> NextOfUnits();
  std::optional<Candidate> NextOfThreads();

  UnitSearch units_;
  const NumericsPolicy numerics_;
  // To rank designs takes seconds, in which the search among units, if there is one, goes on.
  std::future<std::unique_ptr<DesignSearch>> ranking_;
  std::unique_ptr<DesignSearch> designs_;
  int turns_ = 0;
  absl::flat_hash_set<std::string> told_;  // identities of kernels that they asked for
};

}  // namespace mdh
