#include "codegen/choose/stencil_columns.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "codegen/choose/counting/fragment_table.h"
#include "core/base/round.h"

namespace mdh {
namespace {

// Whether the points of a thread share a quarter of what they read of some input, at least.
bool HaveElementsInCommon(const Expression& expression, const BlockDesign& design) {
  std::vector<int64_t> own;
  double points = 1;
  for (const BlockDesign::Cut& cut : design.cuts) own.push_back(cut.vector);
  for (const int64_t along : own) points *= static_cast<double>(along);
  return std::ranges::any_of(expression.inputs(), [&](const Buffer& input) {
    const std::optional<double> elements = FragmentTable(input).Elements(own);
    return elements && *elements <= 0.75 * points * static_cast<double>(input.accesses.size());
  });
}

// So that few threads are behind its end; two warps, about.
int64_t ThreadsOfRow(int64_t size) {
  constexpr int64_t kFewest = 32, kUsual = 64, kMost = 128;
  int64_t best = std::min(size, kUsual);
  const auto rank = [&](int64_t threads) {
    return std::pair(RoundUp(size, threads), std::abs(threads - kUsual));
  };
  for (int64_t threads = kFewest; threads <= std::min(size, kMost); ++threads) {
    if (rank(threads) < rank(best)) best = threads;
  }
  return best;
}

}  // namespace

std::optional<BlockDesign> StencilColumns(const Expression& expression,
                                          const DeviceDescription& device) {
  const auto size = [&](int d) { return expression.dimensions()[d].size; };
  constexpr int64_t kRows = 4, kPoints = 4, kPlanesRows = 2;
  constexpr double kFewestBlocks = 4;  // of a multiprocessor
  if (expression.has_reduction() || expression.rank() < 2) return std::nullopt;
  const std::vector<int> order = ResultOrder(expression);
  BlockDesign design;
  design.cuts.assign(expression.rank(), {});
  design.copies.assign(expression.inputs().size(), BlockDesign::Copy::kNone);
  design.lane_dimension = order[0];
  design.cuts[order[0]].threads = ThreadsOfRow(size(order[0]));
  const auto most = [](int64_t points, int64_t of) {
    return RoundDownToPowerOfTwo(std::max<int64_t>(std::min(points, of), 1));
  };
  BlockDesign::Cut& rows = design.cuts[order[1]];
  rows.vector = most(order.size() > 2 ? kPlanesRows : kPoints, size(order[1]));
  rows.threads = most(kRows, size(order[1]) / rows.vector);
  if (order.size() > 2) design.cuts[order[2]].vector = most(kPoints, size(order[2]));
  double blocks = 1;
  for (int d = 0; d < expression.rank(); ++d) {
    const BlockDesign::Cut& cut = design.cuts[d];
    blocks *= static_cast<double>(CeilDivide(size(d), cut.threads * cut.vector));
  }
  const bool is_worth_it = blocks >= kFewestBlocks * device.blocks.multiprocessors &&
                           HaveElementsInCommon(expression, design);
  return is_worth_it ? std::optional(design) : std::nullopt;
}

}  // namespace mdh
