#include "tuner/run/design_turns.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "tuner/run/search_turns.h"

namespace mdh {

DesignTurns::DesignTurns(const SearchTarget& target, const TuningParameters& from_rules)
    : units_(target.expression, target.model, target.device, from_rules, target.schedule),
      numerics_(from_rules.numerics) {
  const auto rank = [&expression = target.expression, &model = target.model,
                     &device = target.device, schedule = target.schedule] {
    return std::make_unique<DesignSearch>(expression, model, device, schedule);
  };
  const std::launch when = units_.is_done() ? std::launch::deferred : std::launch::async;
  try {
    ranking_ = std::async(when, rank);
  } catch (const std::system_error&) {
    ranking_ = std::async(std::launch::deferred, rank);  // there is no thread
  }
}

DesignTurns::~DesignTurns() = default;

// Whether the designs are ranked; waits for that if nothing else is to be done.
bool DesignTurns::HasDesigns() {
  if (!ranking_.valid()) return true;
  const bool is_ready = ranking_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (is_ready || units_.is_done()) designs_ = ranking_.get();
  return designs_ != nullptr;
}

bool DesignTurns::HasMore() { return !units_.is_done() || (HasDesigns() && !designs_->is_done()); }

std::optional<Candidate> DesignTurns::Next(bool is_idle) {
  if (!HasDesigns()) return NextOfUnits();
  const SearchStanding designs = {designs_->best(), designs_->expected(), designs_->is_done()};
  const SearchStanding units = {units_.best(), units_.expected(), units_.is_done()};
  const bool are_units = IsTurnOfSecond(designs, units, turns_++);
  std::optional<Candidate> next = are_units ? NextOfUnits() : NextOfThreads();
  if (next.has_value() || !is_idle) return next;
  return are_units ? NextOfThreads() : NextOfUnits();
}

std::optional<Candidate> DesignTurns::NextOfUnits() {
  std::optional<TuningParameters> next = units_.Ask();
  if (!next.has_value()) return std::nullopt;
  Candidate candidate;
  candidate.parameters = *std::move(next);
  candidate.is_of_units = true;
  return candidate;
}

std::optional<Candidate> DesignTurns::NextOfThreads() {
  std::optional<BlockCandidate> next = designs_->Ask();
  if (!next.has_value()) return std::nullopt;
  Candidate candidate;
  candidate.parameters = std::move(next->parameters);
  candidate.parameters.numerics = numerics_;
  candidate.design = std::move(next->design);
  return candidate;
}

void DesignTurns::Tell(const Candidate& candidate) {
  const bool is_asked = candidate.is_of_units || candidate.design.has_value();
  const bool is_repeated = is_asked && !candidate.kernel.source.empty() &&
                           !told_.insert(IdentityOf(candidate.kernel)).second;
  const bool is_valid = candidate.measurement.outcome == TrialOutcome::kOk;
  const std::optional<double> cost =
      is_valid ? std::optional<double>(SearchTime(candidate.measurement)) : std::nullopt;
  if (candidate.is_of_units) {
    is_repeated ? units_.TellRepeated() : units_.Tell(candidate.parameters, cost);
  } else if (candidate.design.has_value()) {
    is_repeated ? designs_->TellRepeated() : designs_->Tell(*candidate.design, cost);
  } else if (candidate.parameters.unit.rows > 0 && cost.has_value()) {
    units_.Learn(candidate.parameters, *cost);
  }
}

}  // namespace mdh
