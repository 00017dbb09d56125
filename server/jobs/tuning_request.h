// What a client may ask of a search, checked and with defaults filled in.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/expression/numerics.h"
#include "mdh/v1/tuning.pb.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

// Defaults filled in. Errors: InvalidArgument for values out of bounds, NotFound for an unknown
// technique, naming those that exist.
Result<v1::TuningOptions> CheckTuningOptions(v1::TuningOptions options);

// The policy that a request says, kReassociate if it says none. Errors: InvalidArgument for the
// field "numerics_policy".
Result<NumericsPolicy> ReadNumericsPolicy(v1::NumericsPolicy policy);

// Expects what CheckTuningOptions gave.
TuningOptions FromProto(const v1::TuningOptions& options);

// Estimated time to the end of the search, in nanoseconds.
int64_t RemainingTime(const v1::TuningOptions& options, int64_t trials, int64_t elapsed_ns);

}  // namespace mdh
