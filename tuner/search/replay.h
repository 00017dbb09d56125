// Searches played on recorded costs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "tuner/search/recorded_costs.h"
#include "tuner/search/search.h"

namespace mdh {

// Entry n is the best cost after n + 1 evaluations. Ends after so many evaluations, when the space
// is used up, or as soon as a cost is at most `enough`. Told at once or late, the trace is
// the same (search.h). Errors: those of Search::Create.
Result<std::vector<Cost>> Replay(const RecordedCosts& table, SearchOptions options,
                                 int64_t evaluations, double enough);

}  // namespace mdh
