// A study: one search that several clients work on at once, by ask and tell. Configurations are
// given out on leases, so that those of clients that went away are given to others; an abort
// condition says when it ends.
//
// Times are nanoseconds of a clock that goes on across restarts, and are passed in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/study.pb.h"
#include "tuner/search/abort_condition.h"
#include "tuner/search/search.h"
#include "tuner/study/active_time.h"

namespace mdh {

// A configuration that was given out and whose cost was not told yet.
struct LeasedTrial {
  Proposal proposal;
  int64_t asked_ns;   // when it was given out last
  int64_t expire_ns;  // from then on it is given to whoever asks next
};

// What a client tells.
struct ToldOutcome {
  int64_t number;
  Cost cost;  // nullopt: it failed
};

// A trial that was told.
struct ToldTrial {
  Evaluation evaluation;
  int64_t asked_ns;
  int64_t told_ns;
  int64_t order;  // 1, 2, ... in the order of telling
};

// Everything that happened in a study: what it takes to go on elsewhere.
struct StudyJournal {
  v1::StudyState state = v1::STUDY_STATE_ACTIVE;
  std::string state_reason;
  std::vector<LeasedTrial> leased;  // in any order
  std::vector<ToldTrial> told;      // in any order
};

// Not thread-safe.
class Study {
 public:
  // `abort`: nullopt ends with the space, or with what the technique proposes.
  Study(Search search, std::optional<AbortCondition> abort);
  // Goes on where the journal ends: proposes what the study would have proposed that wrote it.
  // Expects the same space, search options and condition. Errors: FailedPrecondition if the search
  // proposes other configurations than those of the journal, with the first that differs.
  static Result<Study> Resume(Search search, std::optional<AbortCondition> abort,
                              const StudyJournal& journal);

  // Up to `count` configurations to evaluate, those whose leases are over first, with the numbers
  // that they had. Fewer, or none, while results of others are needed first, while more would go
  // beyond the abort condition, and once the study is not active any more.
  std::vector<LeasedTrial> Ask(int count, int64_t lease_ns, int64_t now_ns);

  // Takes all of the outcomes or none, and gives those that are new: told twice with equal cost, or
  // twice as failed, is no error. Counts also when the lease is over or the study has ended.
  // Errors: NotFound for a number that was not given out; AlreadyExists for one that was told with
  // another outcome, also within `outcomes`; InvalidArgument for a cost that is not finite.
  Result<std::vector<ToldTrial>> Tell(absl::Span<const ToldOutcome> outcomes, int64_t now_ns);

  // Gives nothing out any more. No effect on a study that has ended.
  void Cancel();

  v1::StudyState state() const { return state_; }
  // Why it is finished; empty unless it is.
  const std::string& state_reason() const { return state_reason_; }
  const SearchSpace& space() const { return search_.space(); }
  int64_t evaluations() const { return search_.evaluations(); }
  int64_t valid_evaluations() const { return search_.valid_evaluations(); }
  int64_t left_out() const { return search_.left_out(); }
  // How a trial cost less than its lower bound; empty if none did.
  const std::string& lower_bound_violation() const { return lower_bound_violation_; }
  int64_t outstanding() const { return static_cast<int64_t>(leases_.size()); }
  const std::optional<Evaluation>& best() const { return search_.best(); }
  int64_t active_ns() const { return active_time_.total_ns(); }
  // When the last lease ends; 0 if nothing is given out.
  int64_t last_expire_ns() const;

 private:
  // Asks the new search for the journal's trials, one by one, and tells it their costs.
  Status Replay(const StudyJournal& journal);
  Status CheckOutcomes(absl::Span<const ToldOutcome> outcomes) const;
  // Takes note of a cost that the search was told.
  void CountTold(const ToldTrial& trial);
  void CheckLowerBound(const Evaluation& evaluation);
  // How many configurations may be given out for the first time.
  int NewAllowed(int count) const;
  void FinishIfDone();

  Search search_;
  std::optional<AbortCondition> abort_;
  v1::StudyState state_ = v1::STUDY_STATE_ACTIVE;
  std::string state_reason_;
  std::string lower_bound_violation_;
  std::map<int64_t, LeasedTrial> leases_;  // by number
  std::vector<Cost> costs_;                // of number n at n - 1, if it is none of leases_
  SearchProgress progress_;
  ActiveTime active_time_;
};

}  // namespace mdh
