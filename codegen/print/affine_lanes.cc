#include "codegen/print/affine_lanes.h"

#include <variant>

namespace mdh {

std::optional<AffineLanes> AffineLanesOf(const LoopValue& value) {
  if (value->type.scalar != ScalarType::kInt64) return std::nullopt;
  if (value->type.lanes == 1) return AffineLanes{value, 0};
  if (const auto* splat = std::get_if<Splat>(&value->form)) return AffineLanesOf(splat->scalar);
  if (const auto* index = std::get_if<IndexValue>(&value->form)) {
    return AffineLanes{MakeIndexValue(index->index, 1, 0), index->lane_step};
  }
  const auto* sum = std::get_if<LoopOperation>(&value->form);
  if (sum == nullptr || (sum->op != ScalarOp::kAdd && sum->op != ScalarOp::kSub)) {
    return std::nullopt;
  }
  const std::optional<AffineLanes> a = AffineLanesOf(sum->operands[0]);
  const std::optional<AffineLanes> b = AffineLanesOf(sum->operands[1]);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  return AffineLanes{MakeOperation(sum->op, ScalarType::kInt64, {a->first, b->first}),
                     sum->op == ScalarOp::kAdd ? a->step + b->step : a->step - b->step};
}

}  // namespace mdh
