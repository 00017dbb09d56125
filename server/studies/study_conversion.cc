#include "server/studies/study_conversion.h"

#include <google/protobuf/util/time_util.h>

#include <utility>

#include "tuner/study/study_spec.h"

namespace mdh {
namespace {

using google::protobuf::util::TimeUtil;

}  // namespace

Result<std::vector<ToldOutcome>> OutcomesOf(const v1::TellTrialsRequest& request) {
  std::vector<ToldOutcome> outcomes;
  for (int i = 0; i < request.trials_size(); ++i) {
    const v1::StudyTrial& trial = request.trials(i);
    if (trial.has_cost() == !trial.failure().empty()) {
      return InvalidArgument("trials[", i, "]: trial ", trial.number(), " has ",
                             trial.has_cost() ? "both" : "neither", " a cost ",
                             trial.has_cost() ? "and" : "nor", " a failure");
    }
    outcomes.push_back({trial.number(), trial.has_cost() ? Cost(trial.cost()) : std::nullopt});
  }
  return outcomes;
}

std::string CutText(const std::string& text, int max_bytes) {
  if (text.size() <= static_cast<size_t>(max_bytes)) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

JournalTrial ToJournal(const LeasedTrial& trial, absl::Span<const TuningParameter> parameters) {
  JournalTrial result;
  result.asked_ns = trial.asked_ns;
  result.trial.set_number(trial.proposal.number);
  *result.trial.mutable_configuration() =
      NamedFromConfiguration(trial.proposal.configuration, parameters);
  *result.trial.mutable_lease_expire_time() = TimeUtil::NanosecondsToTimestamp(trial.expire_ns);
  return result;
}

JournalTrial ToJournal(const ToldTrial& trial, const std::string& failure,
                       absl::Span<const TuningParameter> parameters) {
  JournalTrial result;
  result.asked_ns = trial.asked_ns;
  result.told_ns = trial.told_ns;
  result.order = trial.order;
  result.trial.set_number(trial.evaluation.number);
  *result.trial.mutable_configuration() =
      NamedFromConfiguration(trial.evaluation.configuration, parameters);
  if (trial.evaluation.cost.has_value()) {
    result.trial.set_cost(*trial.evaluation.cost);
  } else {
    result.trial.set_failure(CutText(failure, kMaxFailureBytes));
  }
  return result;
}

Result<StudyJournal> FromJournal(const v1::Study& study, const std::vector<JournalTrial>& trials,
                                 absl::Span<const TuningParameter> parameters) {
  StudyJournal journal;
  journal.state = study.state();
  journal.state_reason = study.state_reason();
  for (const JournalTrial& stored : trials) {
    const v1::StudyTrial& trial = stored.trial;
    Result<Configuration> configuration = ConfigurationFromNamed(trial.configuration(), parameters);
    if (!configuration.ok()) {
      return FailedPrecondition("trial ", trial.number(), ": ",
                                std::string(configuration.status().message()));
    }
    if (stored.order == 0) {
      journal.leased.push_back({{trial.number(), *std::move(configuration)},
                                stored.asked_ns,
                                TimeUtil::TimestampToNanoseconds(trial.lease_expire_time())});
    } else {
      journal.told.push_back({{trial.number(), *std::move(configuration),
                               trial.has_cost() ? Cost(trial.cost()) : std::nullopt},
                              stored.asked_ns,
                              stored.told_ns,
                              stored.order});
    }
  }
  return journal;
}

void Summarize(const Study& study, v1::Study& summary) {
  summary.set_state(study.state());
  summary.set_state_reason(study.state_reason());
  summary.set_evaluations(study.evaluations());
  summary.set_valid_evaluations(study.valid_evaluations());
  summary.set_outstanding(study.outstanding());
  summary.set_active_ns(study.active_ns());
  summary.set_left_out(study.left_out());
  summary.set_lower_bound_violation(study.lower_bound_violation());
  if (!study.best().has_value()) return;
  const Evaluation& best = *study.best();
  summary.mutable_best()->set_number(best.number);
  summary.mutable_best()->set_cost(best.cost.value());
  *summary.mutable_best()->mutable_configuration() =
      NamedFromConfiguration(best.configuration, study.space().parameters());
}

}  // namespace mdh
