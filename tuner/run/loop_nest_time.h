// The time of the plain loop nest, on the host's CPU: what a user would get without all this.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "core/expression/expression.h"
#include "tuner/measure/runner.h"

namespace mdh {

// 0 where it would take too long, where no runner has time for it, and, unless the CPU is what is
// tuned and there is time left (`is_late`), where it cannot be measured: the host may have no
// compiler. Errors: as Runner::LoopNestTime.
Result<int64_t> LoopNestTime(Runner* runner, const Expression& expression, bool is_cpu,
                             bool is_late);

// Others may have used the machine when it was timed first.
void TimeShortLoopNestAgain(Runner* runner, int64_t& loop_nest_ns);

}  // namespace mdh
