#include "client/report/study_report.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/report/report_page.h"

namespace mdh {
namespace {

using nlohmann::json;

constexpr size_t kReasonsOfOutcome = 3;  // of an outcome

// As JSON has it.
std::string TextOf(const google::protobuf::Value& value) {
  if (value.kind_case() == google::protobuf::Value::kStringValue) return value.string_value();
  std::string text;
  return google::protobuf::util::MessageToJsonString(value, &text).ok() ? text : "";
}

json BestData(const v1::Study& study) {
  json rows = json::array();
  if (!study.has_best()) return rows;
  const auto& values = study.best().configuration().values().fields();
  for (const v1::StudyParameter& parameter : study.spec().parameters()) {
    const auto found = values.find(parameter.name());
    if (found == values.end()) continue;
    rows.push_back({{"name", parameter.name()}, {"value", TextOf(found->second)}});
  }
  return rows;
}

// By kind of failure, the most frequent first, with what most of them said.
json OutcomeData(const std::vector<v1::StudyTrial>& trials) {
  std::map<std::string, std::map<std::string, int64_t>> by_kind;
  std::map<std::string, int64_t> counts;
  for (const v1::StudyTrial& trial : trials) {
    const std::string& failure = trial.failure();
    const std::string kind = trial.has_cost() ? "valid" : failure.substr(0, failure.find(": "));
    ++counts[kind];
    if (!trial.has_cost()) ++by_kind[kind][failure.substr(0, failure.find('\n'))];
  }
  const auto is_more = [](const auto& a, const auto& b) { return a.second > b.second; };
  std::vector<std::pair<std::string, int64_t>> kinds(counts.begin(), counts.end());
  std::ranges::stable_sort(kinds, is_more);
  json outcomes = json::array();
  for (const auto& [kind, count] : kinds) {
    std::vector<std::pair<std::string, int64_t>> reasons(by_kind[kind].begin(),
                                                         by_kind[kind].end());
    std::ranges::stable_sort(reasons, is_more);
    if (reasons.size() > kReasonsOfOutcome) reasons.resize(kReasonsOfOutcome);
    json texts = json::array();
    for (const auto& [text, trials_of] : reasons) {
      texts.push_back({{"text", text}, {"trials", trials_of}});
    }
    outcomes.push_back({{"name", kind}, {"trials", count}, {"reasons", std::move(texts)}});
  }
  return outcomes;
}

std::string StateWord(const v1::Study& study) {
  return absl::AsciiStrToLower(
      v1::StudyState_Name(study.state()).substr(sizeof("STUDY_STATE_") - 1));
}

}  // namespace

json StudyReportData(const StudyReport& report) {
  const v1::Study& study = report.study;
  const v1::StudySpec& spec = study.spec();
  json numbers = json::array();
  json costs = json::array();  // null: failed
  for (const v1::StudyTrial& trial : report.trials) {
    numbers.push_back(trial.number());
    costs.push_back(trial.has_cost() ? json(trial.cost()) : json());
  }
  const std::string title = spec.display_name().empty() ? study.name() : spec.display_name();
  return {{"page", "study"},
          {"title", title},
          {"name", study.name()},
          {"state", StateWord(study)},
          {"state_reason", study.state_reason()},
          {"technique", spec.technique()},
          {"seed", spec.seed()},
          {"abort", spec.abort()},
          {"space_count", study.space_count()},
          {"parameters", spec.parameters_size()},
          {"created", google::protobuf::util::TimeUtil::ToString(study.create_time())},
          {"active_ns", study.active_ns()},
          {"evaluations", study.evaluations()},
          {"valid_evaluations", study.valid_evaluations()},
          {"not_ended", study.outstanding()},
          {"best_cost", study.has_best() ? json(study.best().cost()) : json()},
          {"best_trial", study.has_best() ? study.best().number() : 0},
          {"best", BestData(study)},
          {"numbers", std::move(numbers)},
          {"costs", std::move(costs)},
          {"outcomes", OutcomeData(report.trials)}};
}

std::string StudyReportPage(const StudyReport& report) {
  const json data = StudyReportData(report);
  return ReportPage(absl::StrCat(data["title"].get<std::string>(), ", ", report.study.name()),
                    data);
}

}  // namespace mdh
