#include "codegen/lower/units/unit_copies.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"

namespace mdh {
namespace {

// The point, or the last of `width` neighbours if it does not exist: addresses are of elements.
Index Existing(const UnitAxis& axis, Index point, int64_t width) {
  return axis.is_ragged() ? Min(point, Index(axis.points - width)) : point;
}

}  // namespace

UnitCopies::UnitCopies(UnitContext& context, bool is_a)
    : context_(context),
      plan_(is_a ? context.plan().a : context.plan().b),
      axis_(is_a ? context.m() : context.n()),
      first_(is_a ? context.FirstM() : context.FirstN()),
      access_(context.expression().input_access(plan_.parameter)),
      buffer_(context.expression().inputs()[access_.buffer]),
      pointer_(context.kernel_names().inputs[access_.buffer]),
      array_(context.names().Unique(pointer_ + "_sm")) {}

void UnitCopies::DeclareShared(Block* block) const {
  block->push_back(
      {DeclareArray{array_, context_.element(), stage_elements() * context_.unit().stages,
                    MemorySpace::kShared, kOperandAlignment}});
}

// Inside of a buffer with a boundary.
std::vector<Condition> UnitCopies::Inside(const UnitContext::Point& point) const {
  std::vector<Condition> conditions;
  if (buffer_.boundary.kind == Boundary::Kind::kNone) return conditions;
  const std::vector<AffineIndex>& indices = buffer_.accesses[access_.access].indices;
  for (size_t x = 0; x < indices.size(); ++x) {
    int64_t low = indices[x].constant, high = indices[x].constant;
    for (size_t d = 0; d < point.size(); ++d) {
      const int64_t most = context_.expression().dimensions()[d].size - 1;
      const int64_t coefficient = indices[x].coefficients[d];
      (coefficient < 0 ? low : high) += coefficient * most;
    }
    const Index at = At(indices[x], point);
    if (low < 0) conditions.push_back(Less(Index(-1), at));
    if (high >= buffer_.extents[x]) conditions.push_back(Less(at, Index(buffer_.extents[x])));
  }
  return conditions;
}

// The neighbours from element `at` of the thread's piece of a row on.
void UnitCopies::EmitPiece(const Index& row, const Index& stage, int64_t at, const Index& to,
                           Block* block) {
  const UnitAxis& k = context_.k();
  const Index in_row = context_.Piece() * kUnitPiece + Index(at);
  const Index own =
      plan_.is_across ? first_ + row / kUnitDepth * kUnitDepth + in_row : first_ + row;
  const Index along_k = stage * kUnitDepth + (plan_.is_across ? row % kUnitDepth : in_row);
  std::vector<Condition> conditions;
  if (axis_.is_ragged()) conditions.push_back(Less(own, Index(axis_.points)));
  if (k.is_ragged()) conditions.push_back(Less(along_k, Index(k.points)));
  UnitContext::Point point = context_.block_point();
  context_.SetPoint(axis_, Existing(axis_, own, plan_.is_across ? plan_.width : 1),
                    pointer_ + "_point", &point, block);
  context_.SetPoint(k, Existing(k, along_k, plan_.is_across ? 1 : plan_.width), pointer_ + "_k",
                    &point, block);
  for (Condition& inside : Inside(point)) conditions.push_back(std::move(inside));
  const Index from = At(buffer_.Linearized(access_.access), point);
  const LoopValueType type{context_.element(), plan_.width};
  if (plan_.width > 1) {
    block->push_back({AsyncCopy{array_, to, pointer_, from, type, std::move(conditions)}});
    return;
  }
  Block copy = {{StoreElements{array_, to, MakeLoad(pointer_, from, type, 1), 1}}};
  if (conditions.empty()) return Append(std::move(copy), block);
  const LoopValue zero =
      StoredValue(MakeLiteral(ScalarValue::Zero(ScalarType::kFloat32)), context_.element());
  Block clear = {{StoreElements{array_, to, zero, 1}}};
  block->push_back(
      {If{std::move(conditions), ShareBlock(std::move(copy)), ShareBlock(std::move(clear))}});
}

void UnitCopies::Emit(const Index& stage, const Index& slot, Block* block) {
  const int64_t at_once = context_.rows_at_once();
  for (int64_t first = 0; first < axis_.step; first += at_once) {
    const Index row = context_.Row() + Index(first);
    Block pieces;
    for (int64_t at = 0; at < kUnitPiece; at += plan_.width) {
      const Index to = slot * stage_elements() + context_.Place() + Index(first * kUnitDepth + at);
      EmitPiece(row, stage, at, to, &pieces);
    }
    if (first + at_once <= axis_.step) {
      Append(std::move(pieces), block);
    } else {
      block->push_back(When({Less(row, Index(axis_.step))}, std::move(pieces)));
    }
  }
}

}  // namespace mdh
