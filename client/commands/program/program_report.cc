#include "client/commands/program/program_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/commands/format/study_format.h"
#include "client/text/formatting.h"
#include "tuner/search/abort_condition.h"

namespace mdh {
namespace {

std::string KindOf(const std::string& failure) { return failure.substr(0, failure.find(": ")); }

// How much of the study is done, as far as its abort condition tells.
std::optional<double> ShareDone(const v1::Study& study, const std::string& abort) {
  const Result<AbortCondition> condition = AbortCondition::Parse(abort);
  if (!condition.ok()) return std::nullopt;
  SearchProgress progress;
  progress.elapsed_ns = study.active_ns();
  progress.evaluations = study.evaluations();
  progress.valid_evaluations = study.valid_evaluations();
  std::optional<double> share;
  const auto count = [&](int64_t done, const std::optional<int64_t>& left) {
    if (!left) return;
    const double whole =
        static_cast<double>(done) + static_cast<double>(std::max<int64_t>(*left, 0));
    const double part = whole > 0 ? static_cast<double>(done) / whole : 1;
    share = std::max(share.value_or(0), part);
  };
  count(progress.evaluations, condition->EvaluationsLeft(progress));
  count(progress.elapsed_ns, condition->NanosecondsLeft(progress));
  return share;
}

// The best configuration as an object, in the order of the parameters.
nlohmann::ordered_json ConfigurationJson(const v1::Study& study) {
  if (!study.has_best()) return nullptr;
  const nlohmann::ordered_json line = nlohmann::ordered_json::parse(
      JsonLine(study.best(), NamesOfParameters(study.spec())), nullptr, /*allow_exceptions=*/false);
  return line.is_discarded() ? nlohmann::ordered_json() : line["configuration"];
}

}  // namespace

std::string SpaceText(const v1::Study& study) {
  return study.space_count().empty() ? "more configurations than can be counted"
                                     : absl::StrCat(study.space_count(), " configurations");
}

std::string CostUnit(bool is_time) { return is_time ? "ns" : "as printed"; }

Result<ProgramReport> MakeReport(TrialSource& trials, bool is_time) {
  ProgramReport report;
  report.is_time = is_time;
  MDH_ASSIGN_OR_RETURN(report.study, trials.Get());
  std::map<std::string, int64_t> messages;
  MDH_RETURN_IF_ERROR(trials.ForEachTold([&](const v1::StudyTrial& trial) {
    if (trial.has_cost()) return;
    ++report.failures[KindOf(trial.failure())];
    ++messages[trial.failure()];
  }));
  for (const auto& message : messages) {
    if (message.second <= report.commonest_count) continue;
    report.commonest_failure = message.first;
    report.commonest_count = message.second;
  }
  return report;
}

std::string FormatCost(double cost, bool is_time) {
  if (is_time && cost >= 0 && cost < 9e18) return FormatTime(std::llround(cost));
  return absl::StrFormat("%.6g", cost);
}

std::string FormatStudyProgress(const v1::Study& study, const std::string& abort, bool is_time) {
  std::string line;
  if (const std::optional<double> share = ShareDone(study, abort)) {
    line = absl::StrFormat("%s %3.0f %%  ", FormatBar(*share), *share * 100);
  }
  absl::StrAppend(&line, study.evaluations(), " trials (",
                  study.evaluations() - study.valid_evaluations(), " failed)  ",
                  study.has_best() ? absl::StrCat("best ", FormatCost(study.best().cost(), is_time))
                                   : "no result yet");
  return line;
}

std::string FormatReport(const ProgramReport& report) {
  const v1::Study& study = report.study;
  std::string text;
  const std::string title =
      absl::StrCat(study.spec().display_name().empty() ? "program" : study.spec().display_name(),
                   study.name().empty() ? "" : absl::StrCat(" (", study.name(), ")"));
  absl::StrAppend(&text, title, "\n");
  if (study.has_best()) {
    absl::StrAppend(
        &text, "  best       ",
        FormatConfiguration(study.best().configuration(), NamesOfParameters(study.spec())),
        "\n  cost       ", FormatCost(study.best().cost(), report.is_time),
        report.is_time ? "" : " (as the program prints it)", ", trial ", study.best().number(),
        "\n");
  }
  absl::StrAppend(&text, "  trials     ", study.evaluations(), ", of ", SpaceText(study), "\n");
  const char* separator = "  failed     ";
  for (const auto& failure : report.failures) {
    absl::StrAppend(&text, separator, failure.second, " ", failure.first);
    separator = ", ";
  }
  if (!report.failures.empty()) {
    absl::StrAppend(&text, "\n  most often ",
                    absl::StrReplaceAll(report.commonest_failure, {{"\n", "\n    "}}), "\n");
  }
  if (!study.state_reason().empty()) {
    absl::StrAppend(&text, "  ended      ", study.state_reason(), "\n");
  }
  if (study.left_out() > 0) {
    absl::StrAppend(&text, "  left out   ", study.left_out(), " by the lower bound\n");
  }
  if (!study.lower_bound_violation().empty()) {
    absl::StrAppend(&text, "  wrong      ", study.lower_bound_violation(), "\n");
  }
  for (const std::string& notice : study.notices()) {
    absl::StrAppend(&text, "  note       ", notice, "\n");
  }
  return text;
}

nlohmann::ordered_json ReportJson(const ProgramReport& report) {
  const v1::Study& study = report.study;
  nlohmann::ordered_json json;
  json["study"] = study.name();
  json["display_name"] = study.spec().display_name();
  json["state"] = FormatStudyState(study.state());
  json["state_reason"] = study.state_reason();
  json["left_out"] = study.left_out();
  json["lower_bound_violation"] = study.lower_bound_violation();
  json["configuration"] = ConfigurationJson(study);
  json["cost"] = study.has_best() ? nlohmann::ordered_json(study.best().cost()) : nullptr;
  json["cost_unit"] = CostUnit(report.is_time);
  json["trial"] = study.best().number();
  json["trials"] = study.evaluations();
  json["failed_trials"] = study.evaluations() - study.valid_evaluations();
  json["failures"] = report.failures;
  json["commonest_failure"] = report.commonest_failure;
  json["space_count"] = study.space_count();
  json["notices"] = std::vector<std::string>(study.notices().begin(), study.notices().end());
  return json;
}

}  // namespace mdh
