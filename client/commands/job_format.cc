#include "client/commands/job_format.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

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

std::string JobDeviceNames(const v1::TuningJob& job) {
  constexpr absl::string_view kDevices = "devices/";
  const auto& names = job.running_devices().empty() ? job.devices() : job.running_devices();
  return absl::StrJoin(names, ",", [&](std::string* out, const std::string& name) {
    absl::StrAppend(out, absl::StripPrefix(name, kDevices));
  });
}

}  // namespace mdh
