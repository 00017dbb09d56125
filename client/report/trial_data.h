// The trials of jobs as columns: ten thousand of them stay small.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "client/report/job_report.h"
#include "client/report/parameter_columns.h"

namespace mdh {

// Adds to `data`: `runs` (their ended trials in the order in which they ended), `outcomes` (with
// the most frequent reasons), `not_ended`, and of the first run `parameters`, `importance` and
// `best_trial`.
void AddTrials(const std::vector<JobRun>& runs, const ParameterNames& names, nlohmann::json& data);

}  // namespace mdh
