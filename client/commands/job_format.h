// Jobs in the words of the command line.
#pragma once

#include <string>

#include "mdh/v1/tuning.pb.h"

namespace mdh {

// "running".
std::string JobStateName(v1::TuningJobState state);
// What a running job does: "reference", "loop nest"; else its state.
std::string JobActivity(const v1::TuningJob& job);
// "loop nest".
std::string JobPhaseName(v1::TuningPhase phase);
// "cuda0,cuda1": what it runs on, or may run on.
std::string JobDeviceNames(const v1::TuningJob& job);

}  // namespace mdh
