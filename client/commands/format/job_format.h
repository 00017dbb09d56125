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

// A table of jobs, and a row of it.
const std::vector<TextColumn>& JobTable();
std::vector<std::string> JobRow(const v1::TuningJob& job);

}  // namespace mdh
