// A study in this process, of which nothing is kept.
#include <time.h>

#include <utility>
#include <vector>

#include "client/commands/program/trial_source.h"
#include "tuner/study/study.h"
#include "tuner/study/study_spec.h"

namespace mdh {
namespace {

int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class LocalTrials final : public TrialSource {
 public:
  LocalTrials(v1::StudySpec spec, Study study) : spec_(std::move(spec)), study_(std::move(study)) {}

  std::string name() const override { return ""; }

  Result<v1::Study> Get() override {
    v1::Study study;
    *study.mutable_spec() = spec_;
    const SearchSpace& space = study_.space();
    if (!space.is_lazy()) study.set_space_count(space.count().get_str());
    for (const std::string& notice : space.notices()) study.add_notices(notice);
    study.set_state(study_.state());
    study.set_state_reason(study_.state_reason());
    study.set_evaluations(study_.evaluations());
    study.set_valid_evaluations(study_.valid_evaluations());
    study.set_outstanding(study_.outstanding());
    study.set_active_ns(study_.active_ns());
    study.set_left_out(study_.left_out());
    study.set_lower_bound_violation(study_.lower_bound_violation());
    if (const auto& best = study_.best()) {
      study.mutable_best()->set_number(best->number);
      study.mutable_best()->set_cost(*best->cost);
      *study.mutable_best()->mutable_configuration() =
          NamedFromConfiguration(best->configuration, space.parameters());
    }
    return study;
  }

  Result<v1::AskTrialsResponse> Ask(int count, int64_t lease_ns) override {
    v1::AskTrialsResponse response;
    for (const LeasedTrial& leased : study_.Ask(count, lease_ns, NowNs())) {
      v1::StudyTrial& trial = *response.add_trials();
      trial.set_number(leased.proposal.number);
      *trial.mutable_configuration() =
          NamedFromConfiguration(leased.proposal.configuration, study_.space().parameters());
    }
    response.set_state(study_.state());
    return response;
  }

  Result<v1::Study> Tell(const v1::StudyTrial& trial) override {
    const Cost cost = trial.has_cost() ? Cost(trial.cost()) : std::nullopt;
    MDH_ASSIGN_OR_RETURN(const std::vector<ToldTrial> told,
                         study_.Tell({{trial.number(), cost}}, NowNs()));
    if (!told.empty()) told_.push_back(trial);
    return Get();
  }

  Status ForEachTold(const std::function<void(const v1::StudyTrial&)>& visit) override {
    for (const v1::StudyTrial& trial : told_) visit(trial);
    return absl::OkStatus();
  }

  void Discard() override {}

 private:
  const v1::StudySpec spec_;
  Study study_;
  std::vector<v1::StudyTrial> told_;
};

}  // namespace

Result<std::unique_ptr<TrialSource>> CreateLocalTrials(const v1::StudySpec& spec) {
  MDH_ASSIGN_OR_RETURN(StudyDefinition definition, ReadStudySpec(spec));
  MDH_ASSIGN_OR_RETURN(SearchSpace space, SpaceOf(definition));
  MDH_ASSIGN_OR_RETURN(Search search,
                       Search::Create(std::move(space), std::move(definition.search)));
  return std::make_unique<LocalTrials>(WithDefaults(spec),
                                       Study(std::move(search), std::move(definition.abort)));
}

}  // namespace mdh
