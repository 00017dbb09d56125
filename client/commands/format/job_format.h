// Jobs in the words of the command line.
#pragma once

#include <string>
#include <vector>

#include "client/text/text_table.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {

// "running".
std::string JobStateName(v1::TuningJobState state);
// What a running job does: "reference", "loop nest"; else its state.
std::string JobActivity(const v1::TuningJob& job);
// "loop nest".
std::string JobPhaseName(v1::TuningPhase phase);
// The number in a job's name.
std::string JobNumber(const v1::TuningJob& job);
// "cuda0,cuda1": what it runs on, or may run on.
std::string JobDeviceNames(const v1::TuningJob& job);
// "cuda0" of "devices/cuda0", "w1:cuda0" of "nodes/w1/devices/cuda0"; of a fingerprint the model.
std::string ShortDeviceName(const std::string& name);
// "w1" of "nodes/w1".
std::string NodeLabel(const std::string& node);

// A table of jobs, and a row of it.
const std::vector<TextColumn>& JobTable();
std::vector<std::string> JobRow(const v1::TuningJob& job);

// Which device measured a trial is worth a column where several daemons took part.
enum class TrialDevices { kHidden, kShown };
TrialDevices ShownDevices(const v1::ListTuningTrialsResponse& response);

// A table of trials, and a row of it.
std::vector<TextColumn> TrialTable(TrialDevices devices);
std::vector<std::string> TrialRow(const v1::TuningTrial& trial, TrialDevices devices);

}  // namespace mdh
