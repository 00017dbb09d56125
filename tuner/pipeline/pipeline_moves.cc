#include "tuner/pipeline/pipeline_moves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codegen/joint_moves.h"
#include "core/pipeline/plan/step_cost.h"
#include "tuner/run/trial_history.h"

namespace mdh {
namespace {

// Times what the fastest one takes: what is slower is not searched. Steps that run by themselves
// may be far from their best, as rules have them; of groups rules have tried more.
constexpr double kWorth = 4;
constexpr double kWorthOfGroups = 1.3;
constexpr size_t kMostPlaces = 16;
// Of twice the time a kind has so many times fewer turns.
constexpr double kFewerTurns = 16;
// Where groups are the fastest, one turn of so many is for steps by themselves.
constexpr int kStepsEvery = 4;
// One of so many is for what is near other groups.
constexpr int kOtherGroupsEvery = 3;
// Configurations of a step that are no new kernels, until another step has its turn.
constexpr int kMostRepeated = 50;

bool IsOfGroup(const std::vector<JointGroup>& groups, size_t step) {
  return std::ranges::any_of(groups, [&](const JointGroup& group) {
    return std::cmp_greater_equal(step, group.first) && std::cmp_less_equal(step, group.last);
  });
}

}  // namespace

PipelineMoves::PipelineMoves(const Pipeline& pipeline, DeviceDescription device,
                             const PipelineMoveOptions& options)
    : pipeline_(pipeline),
      device_(std::move(device)),
      model_(TuningModel(device_.kind)),
      options_(options) {}

// ---- What was measured ----

void PipelineMoves::Tell(const PipelineCandidate& candidate, const Measurement& measurement) {
  const std::string identity = IdentityOf(candidate.kernel);
  known_[identity] = measurement;
  const auto [first, last] = origins_.equal_range(identity);
  for (auto at = first; at != last; ++at) TellStep(at->second, candidate, measurement);
  origins_.erase(first, last);
  const int64_t time_ns = SearchTime(measurement);
  if (time_ns == 0) return;
  best_ns_ = best_ns_ == 0 ? time_ns : std::min(best_ns_, time_ns);
  const auto kind = std::ranges::find_if(kinds_, [&](const Kind& one) {
    return one.best.partition.edges == candidate.partition.edges &&
           one.best.parameters.groups == candidate.parameters.groups;
  });
  if (kind == kinds_.end()) {
    kinds_.push_back({.best = candidate, .best_ns = time_ns});
  } else if (time_ns < kind->best_ns) {
    kind->best = candidate;
    kind->best_ns = time_ns;
  }
  if (candidate.parameters.groups.empty()) return;
  const auto behind = std::ranges::upper_bound(places_, time_ns, {}, &Place::time_ns);
  places_.insert(behind, {candidate, time_ns});
  if (places_.size() > kMostPlaces) places_.pop_back();
}

// Expects that the kind does not know of it yet.
void PipelineMoves::TellStep(const Origin& origin, const PipelineCandidate& candidate,
                             const Measurement& measurement) {
  Candidate told = origin.candidate;
  told.kernel = candidate.kernel;
  told.measurement = measurement;
  const int64_t time_ns = SearchTime(measurement);
  const int64_t cost_ns = origin.base_cost_ns + time_ns - origin.base_ns;
  SearchedStep& step = *origin.step;
  step.moves->Tell(std::move(told), cost_ns);
  if (time_ns == 0 || cost_ns >= step.cost_ns) return;
  step.cost_ns = cost_ns;
  // Another step may have become faster meanwhile: both together.
  PipelineParameters both = origin.kind->best.parameters;
  both.steps[step.number] = origin.candidate.parameters;
  if (both != candidate.parameters) both_.emplace_back(origin.kind->best, std::move(both));
}

// ---- What is next ----

std::optional<PipelineCandidate> PipelineMoves::Next() {
  if (!HasRoom() || best_ns_ == 0) return std::nullopt;
  if (auto next = NextOf(both_)) return next;
  const bool are_groups_best = !places_.empty() && places_.front().time_ns == best_ns_;
  const bool is_of_steps = ++turns_ % kStepsEvery == 0;
  // What is near the fastest one comes first.
  if (are_groups_best && !is_of_steps) {
    if (auto next = NextOfGroups(1)) return next;
  }
  if (turns_ % kOtherGroupsEvery == 0) {
    if (auto next = NextOfGroups(kWorthOfGroups)) return next;
  }
  if (auto next = NextOfSteps()) return next;
  return NextOfGroups(kWorthOfGroups);
}

std::optional<PipelineCandidate> PipelineMoves::Make(const PipelineCandidate& from,
                                                     PipelineParameters moved) const {
  if (options_.schedule != nullptr && !options_.schedule->Allows(moved).ok()) return std::nullopt;
  Result<ConfiguredPipeline> configured = ConfigurePipeline(pipeline_, device_, moved);
  if (!configured.ok()) return std::nullopt;
  // Of steps that are computed in other ways nothing is known.
  std::vector<KnownStep> steps;
  for (size_t s = 0; s < moved.steps.size(); ++s) {
    const bool is_same = moved.steps[s] == from.parameters.steps[s];
    steps.push_back(is_same ? from.steps[s] : KnownStep{moved.steps[s]});
  }
  return PipelineCandidate{from.partition, std::move(moved), std::move(steps),
                           std::move(configured->kernel)};
}

std::optional<PipelineCandidate> PipelineMoves::NextOf(std::deque<Move>& moves) {
  while (!moves.empty()) {
    auto [from, to] = std::move(moves.front());
    moves.pop_front();
    std::optional<PipelineCandidate> made = Make(from, std::move(to));
    if (made && known_.try_emplace(IdentityOf(made->kernel), std::nullopt).second) return made;
  }
  return std::nullopt;
}

// Near kernels with groups that are slower than the fastest one by that factor at most.
std::optional<PipelineCandidate> PipelineMoves::NextOfGroups(double worth) {
  const auto expand = [this](Place& place) {
    place.is_expanded = true;
    std::vector<PipelineParameters> moves = JointMoves(
        place.candidate.partition, place.candidate.parameters, model_, device_, options_.numerics);
    for (auto moved = moves.rbegin(); moved != moves.rend(); ++moved) {
      moves_.emplace_front(place.candidate, std::move(*moved));
    }
  };
  if (!places_.empty() && !places_.front().is_expanded) expand(places_.front());
  while (true) {
    if (auto next = NextOf(moves_)) return next;
    const auto place =
        std::ranges::find_if(places_, [](const Place& one) { return !one.is_expanded; });
    const double most_ns = worth * static_cast<double>(best_ns_);
    if (place == places_.end() || static_cast<double>(place->time_ns) > most_ns) {
      return std::nullopt;
    }
    expand(*place);
  }
}

std::optional<PipelineCandidate> PipelineMoves::NextOfSteps() {
  std::vector<Kind*> kinds;  // that are worth it
  for (Kind& kind : kinds_) {
    const bool is_worth =
        static_cast<double>(kind.best_ns) <= kWorth * static_cast<double>(best_ns_);
    if (!is_worth) continue;
    if (!kind.has_steps) AddSteps(kind);
    if (!kind.steps.empty()) kinds.push_back(&kind);
  }
  // Who has had the fewest turns of those that are due.
  const auto turns_of = [&](const Kind* kind) {
    const double times = static_cast<double>(kind->best_ns) / static_cast<double>(best_ns_);
    return (kind->turns + 1) * std::pow(times, std::log2(kFewerTurns));
  };
  std::ranges::sort(kinds, {}, turns_of);
  for (Kind* kind : kinds) {
    if (auto next = NextOf(*kind)) return next;
  }
  return std::nullopt;
}

void PipelineMoves::AddSteps(Kind& kind) const {
  kind.has_steps = true;
  const Pipeline& pipeline = kind.best.partition.pipeline;
  std::vector<Schedule> said;
  if (options_.schedule != nullptr) {
    Result<std::vector<Schedule>> of_steps =
        options_.schedule->OfSteps(pipeline, kind.best.parameters.groups);
    if (!of_steps.ok()) return;
    said = *std::move(of_steps);
  }
  double all = 0;
  for (size_t s = 0; s < pipeline.steps().size(); ++s) {
    const Expression& step = pipeline.steps()[s].expression;
    if (IsOfGroup(kind.best.parameters.groups, s) || step.points() == 0) continue;
    StepMoveOptions options = {
        .numerics = options_.numerics, .technique = options_.technique, .seed = options_.seed};
    if (!said.empty() && !said[s].is_free()) options.schedule = said[s];
    kind.steps.push_back(
        {.number = s,
         .share = CostOf(step, PlanOptions().operations_per_byte),
         .cost_ns = kind.best_ns,
         .moves = std::make_unique<StepMoves>(step, model_, device_, kind.best.parameters.steps[s],
                                              std::move(options))});
    all += kind.steps.back().share;
  }
  // Half equally: what is small may be far from its best.
  for (SearchedStep& step : kind.steps) {
    const double equal = 1.0 / static_cast<double>(kind.steps.size());
    step.share = (equal + (all > 0 ? step.share / all : equal)) / 2;
  }
}

std::optional<PipelineCandidate> PipelineMoves::NextOf(Kind& kind) {
  std::vector<SearchedStep*> order;
  for (SearchedStep& step : kind.steps) order.push_back(&step);
  std::ranges::stable_sort(
      order, {}, [](const SearchedStep* step) { return (step->turns + 1) / step->share; });
  for (SearchedStep* step : order) {
    if (auto next = NextOf(kind, *step)) {
      ++kind.turns;
      return next;
    }
  }
  return std::nullopt;
}

// Kernels that were measured before tell the step what they took.
std::optional<PipelineCandidate> PipelineMoves::NextOf(Kind& kind, SearchedStep& step) {
  for (int repeated = 0; repeated < kMostRepeated; ++repeated) {
    std::optional<Candidate> asked = step.moves->Ask();
    if (!asked) return std::nullopt;
    ++step.turns;
    PipelineParameters moved = kind.best.parameters;
    moved.steps[step.number] = asked->parameters;
    std::optional<PipelineCandidate> made = Make(kind.best, std::move(moved));
    Origin origin = {.kind = &kind,
                     .step = &step,
                     .candidate = *std::move(asked),
                     .base_ns = kind.best_ns,
                     .base_cost_ns = step.cost_ns};
    if (!made) {
      origin.candidate.measurement.outcome = TrialOutcome::kCompileError;
      origin.candidate.measurement.reason = "there is no code";
      step.moves->Tell(std::move(origin.candidate), 0);
      continue;
    }
    const std::string identity = IdentityOf(made->kernel);
    const auto [known, is_new] = known_.try_emplace(identity, std::nullopt);
    if (known->second) {
      TellStep(origin, *made, *known->second);
      continue;
    }
    origins_.emplace(identity, std::move(origin));
    if (is_new) return made;
  }
  return std::nullopt;
}

}  // namespace mdh
