#include "core/pipeline/plan/planned_expression.h"

#include <algorithm>
#include <utility>

#include "core/pipeline/plan/step_cost.h"
#include "core/pipeline/split_contraction.h"

namespace mdh {
namespace {

// The plan knows costs roughly: what it says to gain less is none.
constexpr double kLeastGain = 1.2;
// In bytes, what it takes until all threads see what a step has written: a few microseconds.
constexpr double kCostOfWaiting = 256 * 1024;
// What costs so many times as much is never faster.
constexpr double kHopelessTimes = 3;
// As long as one nest multiplies narrow numbers, on matrix units, and the steps sums of them.
constexpr double kHopelessTimesOfNarrow = 16;
// What costs so many bytes more takes long to measure.
constexpr double kLongBytes = 16 * 1024 * 1024;

// Whether products are of narrower numbers than sums, which are what steps leave each other.
bool IsWidened(const Expression& expression) {
  const int sums = ElementType(expression.function().results()[0].type).size_bytes();
  return std::ranges::any_of(expression.inputs(),
                             [&](const Buffer& input) { return input.type.size_bytes() < sums; });
}

// Of a partition, by how much it costs more than the cheapest one.
double CostAboveLeast(const std::vector<Partition>& partitions, const Partition& partition,
                      double operations_per_byte) {
  const auto cost = [&](const Partition& one) { return CostOf(one.pipeline, operations_per_byte); };
  double least = cost(partition);
  for (const Partition& one : partitions) least = std::min(least, cost(one));
  return cost(partition) - least;
}

}  // namespace

bool PaysToSplit(const Expression& expression) {
  const Pipeline one = Pipeline::Of(expression);
  const Result<Pipeline> split = SplitContraction(one, 0);
  if (!split.ok()) return false;
  const double rate = PlanOptions().operations_per_byte;
  const double waiting = kCostOfWaiting * static_cast<double>(split->steps().size() - 1);
  return CostOf(one, rate) > kLeastGain * CostOf(*split, rate) + waiting;
}

Computation AsPlanned(Computation given, NumericsPolicy policy) {
  auto* const expression = std::get_if<Expression>(&given);
  if (expression == nullptr) return given;
  if (!Reassociates(policy) && IsRoundedByOrder(*expression)) return given;
  if (!PaysToSplit(*expression)) return given;
  return Pipeline::Of(std::move(*expression));
}

void DropHopeless(const Pipeline& pipeline, double operations_per_byte,
                  std::vector<Partition>& partitions) {
  if (pipeline.steps().size() > 1) return;
  const double times =
      IsWidened(pipeline.steps()[0].expression) ? kHopelessTimesOfNarrow : kHopelessTimes;
  std::vector<bool> is_hopeless;
  for (const Partition& partition : partitions) {
    const double more = CostAboveLeast(partitions, partition, operations_per_byte);
    const double least = CostOf(partition.pipeline, operations_per_byte) - more;
    is_hopeless.push_back(partition.is_unfused() && more > (times - 1) * least &&
                          more > kLongBytes);
  }
  size_t n = 0;
  std::erase_if(partitions, [&](const Partition&) { return is_hopeless[n++]; });
}

bool IsSearchedAsItStands(const Pipeline& pipeline, double operations_per_byte,
                          const std::vector<Partition>& partitions, const Partition& partition) {
  if (pipeline.steps().size() > 1 || !partition.is_unfused()) return true;
  return IsWidened(pipeline.steps()[0].expression) ||
         CostAboveLeast(partitions, partition, operations_per_byte) <= kLongBytes;
}

}  // namespace mdh
