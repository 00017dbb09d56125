#include "tuner/run/loop_nest_time.h"

#include <algorithm>

namespace mdh {
namespace {

// A loop nest that takes longer would keep the search waiting, and a GPU even sooner, for a time
// that is only compared with.
constexpr int64_t kMostLoopNestPoints = 4'000'000'000;
constexpr int64_t kMostLoopNestPointsBesideGpu = 50'000'000;
constexpr int64_t kShortLoopNest = 100'000'000;

}  // namespace

Result<int64_t> LoopNestTime(Runner* runner, const Expression& expression, bool is_cpu,
                             bool is_late) {
  const int64_t most = is_cpu ? kMostLoopNestPoints : kMostLoopNestPointsBesideGpu;
  if (expression.points() > most || runner == nullptr) return 0;
  const Result<int64_t> time_ns = runner->LoopNestTime();
  if (!time_ns.ok() && (!is_cpu || is_late)) return 0;
  return time_ns;
}

void TimeShortLoopNestAgain(Runner* runner, int64_t& loop_nest_ns) {
  if (runner == nullptr || loop_nest_ns <= 0 || loop_nest_ns > kShortLoopNest) return;
  const Result<int64_t> again = runner->LoopNestTime();
  if (again.ok() && *again > 0) loop_nest_ns = std::min(loop_nest_ns, *again);
}

}  // namespace mdh
