#include "tuner/study/study.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// Equal costs, or both failed.
bool IsSameOutcome(const Cost& a, const Cost& b) { return a == b; }

std::string OutcomeText(const Cost& cost) {
  return cost.has_value() ? absl::StrCat("the cost ", *cost) : "a failure";
}

}  // namespace

Study::Study(Search search, std::optional<AbortCondition> abort)
    : search_(std::move(search)), abort_(std::move(abort)) {
  if (!search_.space().is_lazy()) progress_.space_count = search_.space().count();
}

Result<Study> Study::Resume(Search search, std::optional<AbortCondition> abort,
                            const StudyJournal& journal) {
  Study study(std::move(search), std::move(abort));
  MDH_RETURN_IF_ERROR(study.Replay(journal));
  if (journal.state != v1::STUDY_STATE_ACTIVE) {
    study.state_ = journal.state;
    study.state_reason_ = journal.state_reason;
  }
  return study;
}

Status Study::Replay(const StudyJournal& journal) {
  std::map<int64_t, const ToldTrial*> told;
  for (const ToldTrial& trial : journal.told) told[trial.evaluation.number] = &trial;
  for (const LeasedTrial& trial : journal.leased) leases_.emplace(trial.proposal.number, trial);
  const auto count = static_cast<int64_t>(told.size() + leases_.size());
  // The search depends on the order of numbers, not on that of telling.
  for (int64_t number = 1; number <= count; ++number) {
    const auto told_trial = told.find(number);
    const auto leased_trial = leases_.find(number);
    if (told_trial == told.end() && leased_trial == leases_.end()) {
      return FailedPrecondition("trial ", number, " is missing in the journal of the study");
    }
    const Configuration& expected = told_trial != told.end()
                                        ? told_trial->second->evaluation.configuration
                                        : leased_trial->second.proposal.configuration;
    const std::vector<Proposal> proposals = search_.Ask(1);
    if (proposals.size() != 1 || proposals[0].number != number ||
        proposals[0].configuration != expected) {
      return FailedPrecondition(
          "the study cannot go on: it was begun by a version that proposes other configurations, ",
          "of which trial ", number, " is the first, ", space().ToText(expected));
    }
    costs_.emplace_back();
    if (told_trial == told.end()) continue;
    costs_.back() = told_trial->second->evaluation.cost;
    MDH_RETURN_IF_ERROR(search_.Tell(number, costs_.back()));
  }
  std::vector<const ToldTrial*> in_order;
  for (const auto& [number, trial] : told) in_order.push_back(trial);
  std::ranges::sort(in_order,
                    [](const ToldTrial* a, const ToldTrial* b) { return a->order < b->order; });
  for (const ToldTrial* trial : in_order) CountTold(*trial);
  return absl::OkStatus();
}

int Study::NewAllowed(int count) const {
  if (!abort_.has_value()) return count;
  const std::optional<int64_t> left = abort_->EvaluationsLeft(progress_);
  if (!left.has_value()) return count;
  return static_cast<int>(std::clamp<int64_t>(*left - outstanding(), 0, count));
}

std::vector<LeasedTrial> Study::Ask(int count, int64_t lease_ns, int64_t now_ns) {
  FinishIfDone();
  std::vector<LeasedTrial> given;
  if (state_ != v1::STUDY_STATE_ACTIVE) return given;
  const int64_t expire_ns = lease_ns > std::numeric_limits<int64_t>::max() - now_ns
                                ? std::numeric_limits<int64_t>::max()
                                : now_ns + lease_ns;
  for (auto& [number, trial] : leases_) {
    if (static_cast<int>(given.size()) >= count) return given;
    if (trial.expire_ns > now_ns) continue;
    trial.asked_ns = now_ns;
    trial.expire_ns = expire_ns;
    given.push_back(trial);
  }
  const int wanted = NewAllowed(count - static_cast<int>(given.size()));
  if (wanted == 0) return given;
  for (Proposal& proposal : search_.Ask(wanted)) {
    const int64_t number = proposal.number;
    given.push_back({std::move(proposal), now_ns, expire_ns});
    leases_.emplace(number, given.back());
    costs_.emplace_back();
  }
  return given;
}

Status Study::CheckOutcomes(absl::Span<const ToldOutcome> outcomes) const {
  std::map<int64_t, Cost> seen;
  for (const ToldOutcome& outcome : outcomes) {
    const int64_t number = outcome.number;
    if (number < 1 || number > static_cast<int64_t>(costs_.size())) {
      return NotFound("trial ", number, " was not asked for");
    }
    if (outcome.cost.has_value() && !std::isfinite(*outcome.cost)) {
      return InvalidArgument("the cost of trial ", number, ", ", *outcome.cost, ", is not finite");
    }
    const bool was_told = leases_.find(number) == leases_.end();
    const Cost& earlier =
        was_told ? costs_[number - 1] : seen.emplace(number, outcome.cost).first->second;
    if (!IsSameOutcome(earlier, outcome.cost)) {
      return AlreadyExists("trial ", number, " was told before with ", OutcomeText(earlier),
                           ", now with ", OutcomeText(outcome.cost));
    }
  }
  return absl::OkStatus();
}

Result<std::vector<ToldTrial>> Study::Tell(absl::Span<const ToldOutcome> outcomes, int64_t now_ns) {
  MDH_RETURN_IF_ERROR(CheckOutcomes(outcomes));
  std::vector<ToldTrial> news;
  for (const ToldOutcome& outcome : outcomes) {
    const auto lease = leases_.find(outcome.number);
    if (lease == leases_.end()) continue;
    MDH_RETURN_IF_ERROR(search_.Tell(outcome.number, outcome.cost));
    costs_[outcome.number - 1] = outcome.cost;
    news.push_back({{outcome.number, std::move(lease->second.proposal.configuration), outcome.cost},
                    lease->second.asked_ns,
                    now_ns,
                    progress_.evaluations + 1});
    leases_.erase(lease);
    CountTold(news.back());
  }
  int64_t oldest_ns = now_ns;
  for (const auto& [number, trial] : leases_) oldest_ns = std::min(oldest_ns, trial.asked_ns);
  active_time_.ForgetBefore(oldest_ns);
  FinishIfDone();
  return news;
}

void Study::CheckLowerBound(const Evaluation& evaluation) {
  const CostBound* const bound = search_.options().bound.get();
  if (bound == nullptr || !evaluation.cost.has_value() || !lower_bound_violation_.empty()) return;
  const double least = bound->OfOne(evaluation.configuration);
  if (*evaluation.cost >= least) return;
  lower_bound_violation_ =
      absl::StrCat("trial ", evaluation.number, " cost ", *evaluation.cost,
                   ", less than its lower bound of ", least, ", so nothing is left out any more");
}

void Study::CountTold(const ToldTrial& trial) {
  CheckLowerBound(trial.evaluation);
  active_time_.Add(trial.asked_ns, trial.told_ns);
  progress_.elapsed_ns = active_time_.total_ns();
  ++progress_.evaluations;
  if (const Cost& cost = trial.evaluation.cost; cost.has_value()) {
    ++progress_.valid_evaluations;
    if (!progress_.best_cost.has_value() || *cost < *progress_.best_cost) {
      progress_.best_cost = cost;
      progress_.improvements.push_back({progress_.elapsed_ns, progress_.evaluations, *cost});
    }
  }
  // Once it has held, it has: a late cost does not open the study again.
  if (state_ == v1::STUDY_STATE_ACTIVE && abort_.has_value() && abort_->Holds(progress_)) {
    state_ = v1::STUDY_STATE_FINISHED;
    state_reason_ = absl::StrCat("the abort condition holds: ", abort_->ToText());
  }
}

void Study::FinishIfDone() {
  if (state_ != v1::STUDY_STATE_ACTIVE || !leases_.empty() || !search_.is_exhausted()) return;
  state_ = v1::STUDY_STATE_FINISHED;
  const bool has_count = !space().is_lazy();
  const CutFigures cut = search_.cut();
  if (has_count && space().count() == evaluations()) {
    state_reason_ = "every configuration was evaluated";
  } else if (cut.is_within_gap || cut.is_whole) {
    state_reason_ = search_.options().gap == 0
                        ? "no configuration is better than the best, as the lower bound shows"
                        : absl::StrCat("the best is within ", 100 * search_.options().gap,
                                       " % of the best possible, as the lower bound shows");
  } else {
    state_reason_ = "the technique has nothing more to propose";
  }
}

void Study::Cancel() {
  if (state_ == v1::STUDY_STATE_ACTIVE) state_ = v1::STUDY_STATE_CANCELLED;
}

int64_t Study::last_expire_ns() const {
  int64_t last = 0;
  for (const auto& [number, trial] : leases_) last = std::max(last, trial.expire_ns);
  return last;
}

}  // namespace mdh
