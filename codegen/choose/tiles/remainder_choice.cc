#include "codegen/choose/tiles/remainder_choice.h"

#include "codegen/lower/tiles/loop_plan.h"

namespace mdh {
namespace {

// Vectors and points that cover dimension d.
int64_t PiecesAlong(const LoopPlan& plan, int d) {
  const int64_t tile = plan.register_tile(d);
  const std::vector<LastTile>& last = plan.last_tiles(d);
  const int64_t whole = plan.size(d) / tile - (last.size() > 1 ? 1 : 0);
  int64_t pieces = whole * std::ssize(plan.Pieces(d, tile));
  for (const LastTile& one : last) pieces += std::ssize(plan.Pieces(d, one.points));
  return pieces;
}

}  // namespace

Remainder RemainderByCounting(const Expression& expression, const SystemModel& model,
                              const DeviceDescription& device, TuningParameters parameters) {
  if (parameters.lowering == Lowering::kLevels) return Remainder::kVariants;
  const auto pieces = [&](Remainder remainder) -> int64_t {
    parameters.remainder = remainder;
    const Result<LowLevelExpression> low = Lower(expression, model, device, parameters);
    if (!low.ok()) return 0;
    const LoopPlan plan(*low);
    const int lanes = plan.vector_dimension();
    return lanes < 0 ? 0 : PiecesAlong(plan, lanes);
  };
  return pieces(Remainder::kVectors) < pieces(Remainder::kVariants) ? Remainder::kVectors
                                                                    : Remainder::kVariants;
}

}  // namespace mdh
