#include "codegen/lower/finish/zero_results.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "codegen/program/scalar_code.h"
#include "core/base/round.h"

namespace mdh {
namespace {

// Dimensions that are numbered together: those along which all targets go in even steps.
struct Run {
  int64_t size;
  std::vector<int64_t> steps;  // per target
};

// The innermost run last: that with the shortest steps of the first target.
std::vector<Run> RunsOf(const Expression& expression, const std::vector<ResultTarget>& targets) {
  std::vector<Run> runs;
  for (int d = 0; d < expression.rank(); ++d) {
    const int64_t size = expression.dimensions()[d].size;
    if (expression.is_reduction(d) || size == 1) continue;
    Run run{size, {}};
    for (const ResultTarget& target : targets) run.steps.push_back(target.offset.coefficients[d]);
    runs.push_back(std::move(run));
  }
  std::ranges::stable_sort(
      runs, [](const Run& a, const Run& b) { return std::abs(a.steps[0]) > std::abs(b.steps[0]); });
  std::vector<Run> merged;
  for (const Run& run : runs) {
    const auto continues = [&](const Run& outer) {
      for (size_t t = 0; t < run.steps.size(); ++t) {
        if (outer.steps[t] != run.steps[t] * run.size) return false;
      }
      return true;
    };
    if (!merged.empty() && continues(merged.back())) {
      merged.back() = {merged.back().size * run.size, run.steps};
    } else {
      merged.push_back(run);
    }
  }
  return merged;
}

}  // namespace

Block ZeroResults(const Expression& expression, const std::vector<ResultTarget>& targets) {
  std::vector<ScalarValue> zeros;
  for (const ResultTarget& target : targets) zeros.push_back(ScalarValue::Zero(target.type));
  return SetResults(expression, targets, zeros);
}

Block SetResults(const Expression& expression, const std::vector<ResultTarget>& targets,
                 const std::vector<ScalarValue>& values) {
  NameAllocator names;
  for (const ResultTarget& target : targets) names.Reserve(target.pointer);
  const std::string item = names.Unique("item");
  const std::vector<Run> runs = RunsOf(expression, targets);
  int64_t items = 1;
  std::vector<Index> offsets;
  for (const ResultTarget& target : targets) offsets.push_back(Index(target.offset.constant));
  for (size_t n = runs.size(); n-- > 0;) {
    const Index rest = Index::Variable(item) / items;
    const Index number = n == 0 ? rest : rest % runs[n].size;
    for (size_t t = 0; t < targets.size(); ++t) offsets[t] = number * runs[n].steps[t] + offsets[t];
    items *= runs[n].size;
  }
  Block body;
  for (size_t t = 0; t < targets.size(); ++t) {
    const LoopValue value = StoredValue(MakeLiteral(values[t]), targets[t].type);
    body.push_back({StoreElements{targets[t].pointer, offsets[t], value, 1}});
  }
  if (items == 1) return body;
  Block block;
  block.push_back({ShareLoop{item, items, std::make_shared<const Block>(std::move(body))}});
  return block;
}

LaunchGeometry LaunchForItems(int64_t items) {
  constexpr int64_t kThreads = 128, kMostBlocks = 2048;
  if (items <= 1) return {};
  return {{std::min(CeilDivide(items, kThreads), kMostBlocks), 1, 1}, {kThreads, 1, 1}};
}

}  // namespace mdh
