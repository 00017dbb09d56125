#include "tuner/decompositions/candidate_space.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/choose/default_parameters.h"
#include "core/schedule/printer.h"
#include "tuner/decompositions/schedule_check.h"

namespace mdh {

Result<CandidateSpace> CandidateSpace::Create(const Expression& expression,
                                              const DeviceDescription& device,
                                              NumericsPolicy numerics,
                                              std::optional<Schedule> schedule) {
  const SystemModel model = TuningModel(device.kind);
  std::vector<TuningParameters> starts = StartingParameters(expression, model, device, numerics);
  const FusedDimensions fused = schedule ? FusedUnder(*schedule, starts) : starts.front().fused;
  MDH_ASSIGN_OR_RETURN(MdhSpace space, MdhSpace::Create(expression, model, device, numerics, {},
                                                        fused, schedule ? &*schedule : nullptr));
  return CandidateSpace(std::move(space), std::move(schedule), expression, model,
                        std::move(starts));
}

CandidateSpace::CandidateSpace(MdhSpace space, std::optional<Schedule> schedule,
                               Expression expression, SystemModel model,
                               std::vector<TuningParameters> starts)
    : space_(std::move(space)),
      schedule_(std::move(schedule)),
      expression_(std::move(expression)),
      model_(std::move(model)),
      starts_(std::move(starts)),
      meanings_(space_.Meanings()),
      names_(ValueNamesOf(meanings_)),
      open_(space_.space(), names_) {}

Result<PartialConfiguration> CandidateSpace::With(absl::Span<const NamedDecision> decisions) const {
  MDH_ASSIGN_OR_RETURN(const auto read, ReadDecisions(space_.space(), decisions, names_));
  return open_.With(read);
}

std::string CandidateSpace::ValueText(int parameter, int64_t code) const {
  return mdh::ValueText(space_.space().parameters()[parameter], code, names_[parameter]);
}

std::string CandidateSpace::ScheduleOf(const PartialConfiguration& partial) const {
  Rng rng(1);
  if (partial.is_complete()) {
    return Schedule::Of(space_.Decode(partial.Sample(rng)), expression_, model_).CanonicalText();
  }
  const ScheduleNames names(space_.divided(), model_);
  std::vector<Decision> decisions;
  std::string comments;
  for (const std::vector<int>& group : space_.fused()) {
    if (group.size() < 2 || schedule_) continue;  // the schedule has its own
    Decision& fused = decisions.emplace_back(Decision{.kind = Decision::Kind::kFuse});
    fused.dimensions = group;
  }
  for (const int parameter : partial.Decided()) {
    const ParameterMeaning& meaning = meanings_[parameter];
    const Range& range = space_.space().parameters()[parameter].range;
    std::vector<ValueSet::Span> spans;
    std::vector<std::string> texts;
    bool is_said = meaning.decision.has_value();
    for (uint32_t position = 0; position < range.size(); ++position) {
      const int64_t code = range.CodeAt(position);
      if (!partial.Allows(parameter, code)) continue;
      texts.push_back(ValueText(parameter, code));
      is_said = is_said && meaning.values[position].has_value();
      if (is_said) spans.push_back({*meaning.values[position], *meaning.values[position]});
    }
    if (!is_said) {
      absl::StrAppend(&comments, "# ", space_.space().parameters()[parameter].name, "=",
                      absl::StrJoin(texts, ","), "\n");
      continue;
    }
    decisions.push_back(*meaning.decision);
    decisions.back().values = ValueSet(std::move(spans), /*is_negated=*/false);
  }
  return absl::StrCat(schedule_ ? schedule_->CanonicalText() : "", LinesText(decisions, names),
                      comments);
}

Status CandidateSpace::Allows(const Configuration& configuration) const {
  if (!schedule_ || space_.has_exactly_schedule()) return absl::OkStatus();
  const Status allows = schedule_->Allows(space_.Decode(configuration));
  if (allows.ok()) return allows;
  return FailedPrecondition("what was chosen is not in the schedule: ", allows.message());
}

Result<FinishedCandidate> CandidateSpace::Near(const PartialConfiguration& partial,
                                               const TuningParameters& parameters,
                                               absl::Span<const int64_t> sizes) const {
  const Configuration wanted = space_.Read(parameters, sizes);
  FinishedCandidate finished = {.configuration = partial.Nearest(wanted)};
  for (size_t n = 0; n < wanted.size(); ++n) {
    finished.changed += finished.configuration[n] != wanted[n] ? 1 : 0;
  }
  MDH_RETURN_IF_ERROR(Allows(finished.configuration));
  return finished;
}

Result<FinishedCandidate> CandidateSpace::ByRules(const PartialConfiguration& partial) const {
  std::optional<Result<FinishedCandidate>> best;
  for (const TuningParameters& start : starts_) {
    Result<FinishedCandidate> near = Near(partial, start);
    const bool is_better =
        !best || (near.ok() && (!best->ok() || near->changed < (*best)->changed));
    if (is_better) best = std::move(near);
  }
  return *std::move(best);
}

Result<FinishedCandidate> CandidateSpace::Sample(const PartialConfiguration& partial,
                                                 uint64_t seed) const {
  constexpr int kTries = 1000;
  Rng rng(seed);
  Status why;
  for (int n = 0; n < kTries; ++n) {
    FinishedCandidate finished = {.configuration = partial.Sample(rng)};
    why = Allows(finished.configuration);
    if (why.ok()) return finished;
  }
  return why;
}

}  // namespace mdh
