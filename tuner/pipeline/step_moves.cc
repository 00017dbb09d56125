#include "tuner/pipeline/step_moves.h"

#include <algorithm>
#include <future>
#include <utility>

#include "tuner/run/background_space.h"

namespace mdh {

StepMoves::StepMoves(Expression step, SystemModel model, DeviceDescription device,
                     TuningParameters from, StepMoveOptions options)
    : step_(std::move(step)),
      model_(std::move(model)),
      device_(std::move(device)),
      options_(std::move(options)),
      target_{step_, model_, device_, PolicyFor(step_, options_.numerics),
              options_.schedule ? &*options_.schedule : nullptr},
      from_(std::move(from)),
      first_(FirstPoints(target_, {{from_}})) {
  if (Reassociates(target_.numerics)) designs_ = std::make_unique<DesignTurns>(target_, from_);
}

StepMoves::~StepMoves() = default;

std::optional<Candidate> StepMoves::Ask() {
  std::optional<Candidate> next = Next();
  if (next) ++under_way_;
  return next;
}

std::optional<Candidate> StepMoves::Next() {
  while (next_first_ < first_.size()) {
    const StartPoint& point = first_[next_first_++];
    if (point.parameters == from_ || !IsValidOn(target_, point)) continue;
    Candidate candidate;
    candidate.parameters = point.parameters;
    return candidate;
  }
  if (OnlyCandidate(target_)) return std::nullopt;
  if (designs_ != nullptr && designs_->HasMore()) {
    return designs_->Next(/*is_idle=*/under_way_ == 0);
  }
  // Who asked for what is under way hears of it first.
  if (designs_ != nullptr && under_way_ > 0) return std::nullopt;
  designs_ = nullptr;
  return NextOfSpace();
}

std::optional<Candidate> StepMoves::NextOfSpace() {
  while (HasSearch()) {
    const std::vector<Proposal> proposals = search_->Ask(1);
    if (proposals.empty()) return std::nullopt;
    const Configuration& configuration = proposals[0].configuration;
    if (const Cost* cost = history_.CostOf(configuration); cost != nullptr) {
      search_->Tell(proposals[0].number, *cost).IgnoreError();
      continue;
    }
    Candidate candidate;
    candidate.parameters = space_->Decode(configuration);
    candidate.proposal = proposals[0].number;
    candidate.configuration = configuration;
    return candidate;
  }
  return std::nullopt;
}

bool StepMoves::HasSearch() {
  if (std::exchange(has_begun_search_, true)) return search_.has_value();
  Result<MdhSpace> space = BackgroundSpace(target_, std::launch::deferred).Take(history_);
  if (!space.ok()) return false;
  space_ = *std::move(space);
  SearchOptions options = {
      .technique = options_.technique, .seed = options_.seed, .lookahead = options_.lookahead};
  std::vector<StartPoint> starts = first_;
  if (!history_.best().empty()) starts.push_back({history_.best().front().parameters});
  for (const StartPoint& point : starts) {
    if (!IsOfModel(target_, point)) continue;
    options.start.push_back(space_->EncodeNearest(point.parameters, point.sizes));
  }
  Result<Search> search = Search::Create(space_->space(), std::move(options));
  if (search.ok()) search_ = *std::move(search);
  return search_.has_value();
}

void StepMoves::Tell(Candidate candidate, int64_t cost_ns) {
  --under_way_;
  if (candidate.measurement.outcome == TrialOutcome::kOk) {
    candidate.measurement.times_ns = {std::max<int64_t>(cost_ns, 1)};
  }
  const Cost cost = history_.Record(candidate, /*elapsed_ns=*/0);
  if (designs_ != nullptr) designs_->Tell(candidate);
  if (candidate.proposal > 0) search_->Tell(candidate.proposal, cost).IgnoreError();
}

}  // namespace mdh
