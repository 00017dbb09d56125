// Parameters of a specification.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/study.pb.h"
#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/range.h"

namespace mdh {

// Names and ranges. A generator may use its own name, which stands for the element of the interval,
// and definitions that are constants. Errors: InvalidArgument, beginning with the field, e.g.
// "study.parameters[2].interval.generator: ...".
Result<std::vector<TuningParameter>> ReadStudyParameters(
    const v1::StudySpec& spec, const std::map<std::string, Formula>& definitions);

}  // namespace mdh
