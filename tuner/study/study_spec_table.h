// Constraints that are given by the value tuples that satisfy them.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "mdh/v1/study.pb.h"
#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/range.h"

namespace mdh {

// A predicate that looks the tuple up. Errors: InvalidArgument, beginning with the field below the
// table, e.g. "satisfied: ...".
Result<Constraint> ReadTableConstraint(const v1::TableConstraint& table,
                                       const std::vector<TuningParameter>& parameters);

}  // namespace mdh
