#include "client/commands/format/job_format.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/text/formatting.h"
#include "core/device/fingerprint.h"

namespace mdh {

std::string JobStateName(v1::TuningJobState state) {
  return absl::AsciiStrToLower(
      v1::TuningJobState_Name(state).substr(sizeof("TUNING_JOB_STATE_") - 1));
}

std::string JobPhaseName(v1::TuningPhase phase) {
  return absl::StrReplaceAll(
      absl::AsciiStrToLower(v1::TuningPhase_Name(phase).substr(sizeof("TUNING_PHASE_") - 1)),
      {{"_", " "}});
}

std::string JobActivity(const v1::TuningJob& job) {
  const v1::TuningPhase phase = job.progress().phase();
  const bool is_known = v1::TuningPhase_IsValid(phase) && phase != v1::TUNING_PHASE_UNSPECIFIED;
  return job.state() == v1::TUNING_JOB_STATE_RUNNING && is_known ? JobPhaseName(phase)
                                                                 : JobStateName(job.state());
}

std::string JobNumber(const v1::TuningJob& job) {
  return std::string(absl::StripPrefix(job.name(), "tuningJobs/"));
}

std::string JobDeviceNames(const v1::TuningJob& job) {
  const auto& names = job.running_devices().empty() ? job.devices() : job.running_devices();
  return absl::StrJoin(names, ",", [&](std::string* out, const std::string& name) {
    absl::StrAppend(out, ShortDeviceName(name));
  });
}

std::string ShortDeviceName(const std::string& name) {
  constexpr absl::string_view kDevices = "devices/";
  // Of a fingerprint what it begins with: the kind and the model.
  if (IsFingerprint(name)) return name.substr(0, name.find(';'));
  const size_t of_node = name.rfind(absl::StrCat("/", kDevices));
  if (of_node == std::string::npos) return std::string(absl::StripPrefix(name, kDevices));
  return absl::StrCat(NodeLabel(name.substr(0, of_node)), ":",
                      name.substr(of_node + 1 + kDevices.size()));
}

std::string NodeLabel(const std::string& node) {
  return std::string(absl::StripPrefix(node, "nodes/"));
}

const std::vector<TextColumn>& JobTable() {
  static const auto* table =
      new std::vector<TextColumn>{{.heading = "JOB", .is_number = true},
                                  {.heading = "STATE", .dispensable = 1, .usual = 9},
                                  {.heading = "TRIALS", .is_number = true, .dispensable = 3},
                                  {.heading = "BEST", .is_number = true, .usual = 7},
                                  {.heading = "CREATED", .dispensable = 4},
                                  {.heading = "DEVICE", .least = 6, .dispensable = 2},
                                  {.heading = "EXPRESSION", .least = 10}};
  return *table;
}

std::vector<std::string> JobRow(const v1::TuningJob& job) {
  const v1::TuningProgress& progress = job.progress();
  // "2026-11-26 10:47".
  std::string created = google::protobuf::util::TimeUtil::ToString(job.create_time()).substr(0, 16);
  std::ranges::replace(created, 'T', ' ');
  return {JobNumber(job),
          JobActivity(job),
          absl::StrCat(progress.trials()),
          progress.best_time_ns() > 0 ? FormatTime(progress.best_time_ns()) : "-",
          created,
          JobDeviceNames(job),
          job.expression_name()};
}

TrialDevices ShownDevices(const v1::ListTuningTrialsResponse& response) {
  const bool has_help = std::ranges::any_of(response.trials(), [](const auto& trial) {
    return absl::StartsWith(trial.device(), "nodes/");
  });
  return has_help ? TrialDevices::kShown : TrialDevices::kHidden;
}

std::vector<TextColumn> TrialTable(TrialDevices devices) {
  std::vector<TextColumn> table = {{.heading = "TRIAL", .is_number = true},
                                   {.heading = "OUTCOME"},
                                   {.heading = "TIME", .is_number = true},
                                   {.heading = "PARAMETERS", .least = 16, .dispensable = 1},
                                   {.heading = "REASON", .least = 16, .dispensable = 2}};
  if (devices == TrialDevices::kShown) {
    table.insert(table.begin() + 3, {.heading = "DEVICE", .least = 6});
  }
  return table;
}

std::vector<std::string> TrialRow(const v1::TuningTrial& trial, TrialDevices devices) {
  std::vector<std::string> row = {
      absl::StrCat(trial.number()), trial.outcome().empty() ? "not ended" : trial.outcome(),
      trial.time_ns() > 0 ? FormatTime(trial.time_ns()) : "-", trial.parameters(),
      trial.reason().substr(0, trial.reason().find('\n'))};
  const std::string device = trial.device().empty() ? "-" : ShortDeviceName(trial.device());
  if (devices == TrialDevices::kShown) row.insert(row.begin() + 3, device);
  return row;
}

}  // namespace mdh
