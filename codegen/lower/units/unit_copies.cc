#include "codegen/lower/units/unit_copies.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"

namespace mdh {

UnitCopies::UnitCopies(UnitContext& context, bool is_a)
    : context_(context),
      plan_(is_a ? context.plan().a : context.plan().b),
      axis_(is_a ? context.m() : context.n()),
      first_(is_a ? context.FirstM() : context.FirstN()),
      access_(context.expression().input_access(plan_.parameter)),
      buffer_(context.expression().inputs()[access_.buffer]),
      offset_(Split(context.expression(), buffer_.Linearized(access_.access))),
      step_(context.CoefficientAlong(context.k(), offset_.reduced)),
      input_(context.kernel_names().inputs[access_.buffer]),
      array_(context.names().Unique(input_ + "_sm")) {}

void UnitCopies::DeclareShared(Block* block) const {
  block->push_back(
      {DeclareArray{array_, context_.element(), stage_elements() * context_.unit().stages,
                    MemorySpace::kShared, kOperandAlignment}});
}

// Its point along m or n, and along k. Neither need exist.
Index UnitCopies::Own(const Piece& piece) const {
  const Index row = RowOf(piece);
  if (!plan_.is_across) return first_ + row;
  return Simplified(first_ + row / kUnitDepth * kUnitDepth + InRow(piece), context_.Ranges());
}

Index UnitCopies::AlongK(const Piece& piece, const Index& stage) const {
  const Index in_stage = plan_.is_across ? RowOf(piece) % kUnitDepth : InRow(piece);
  return stage * kUnitDepth + Simplified(in_stage, context_.Ranges());
}

// Pieces that are as far from each other for all threads have one pointer.
void UnitCopies::FindPointer(const Index& base, Piece* piece, Block* block) {
  for (const Pointer& pointer : pointers_) {
    const std::optional<int64_t> offset = ConstantDifference(base, pointer.base);
    if (!offset.has_value()) continue;
    piece->pointer = pointer.name;
    piece->offset = *offset;
    return;
  }
  const std::string name = context_.names().Unique(input_ + "_at");
  const int alignment = static_cast<int>(plan_.width * kUnitElementBytes);
  block->push_back({DeclarePointer{name, context_.element(), true, input_, base, alignment}});
  pointers_.push_back({name, base});
  piece->pointer = name;
  piece->offset = 0;
}

void UnitCopies::DeclarePointers(const Index& first, Block* block) {
  for (int64_t row = 0; row < axis_.step; row += context_.rows_at_once()) {
    for (int64_t at = 0; at < kUnitPiece; at += plan_.width) {
      Piece piece{row, at, "", 0};
      Index base = context_.OfBlock(offset_.kept) +
                   context_.Along(axis_, offset_.kept, Own(piece), input_ + "_point", block);
      if (AdvancesWithStages()) base = base + AlongK(piece, first) * *step_;
      FindPointer(base.Sum().ToIndex(), &piece, block);
      pieces_.push_back(std::move(piece));
    }
  }
}

// What makes the piece exist, also inside of a buffer with a boundary.
std::vector<Condition> UnitCopies::Conditions(const Piece& piece, const Index& along_k,
                                              Block* block) {
  const UnitAxis& k = context_.k();
  std::vector<Condition> conditions;
  if (axis_.is_ragged()) conditions.push_back(Less(Own(piece), Index(axis_.points)));
  if (k.is_ragged()) conditions.push_back(Less(along_k, Index(k.points)));
  if (!has_boundary()) return conditions;
  UnitContext::Point point = context_.block_point();
  context_.SetPoint(axis_, Own(piece), input_ + "_point", &point, block);
  context_.SetPoint(k, along_k, input_ + "_k", &point, block);
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

void UnitCopies::EmitPiece(const Piece& piece, const Index& stage, const Index& to, Block* block) {
  const Index along_k = AlongK(piece, stage);
  std::vector<Condition> conditions = Conditions(piece, along_k, block);
  Index from(piece.offset);
  if (!AdvancesWithStages()) {
    from = context_.Along(context_.k(), offset_.reduced, along_k, input_ + "_k", block) + from;
  }
  const LoopValueType type{context_.element(), plan_.width};
  if (plan_.width > 1) {
    block->push_back({AsyncCopy{array_, to, piece.pointer, from, type, std::move(conditions)}});
    return;
  }
  Block copy = {{StoreElements{array_, to, MakeLoad(piece.pointer, from, type, 1), 1}}};
  if (conditions.empty()) return Append(std::move(copy), block);
  const LoopValue zero =
      StoredValue(MakeLiteral(ScalarValue::Zero(ScalarType::kFloat32)), context_.element());
  Block clear = {{StoreElements{array_, to, zero, 1}}};
  block->push_back(
      {If{std::move(conditions), ShareBlock(std::move(copy)), ShareBlock(std::move(clear))}});
}

void UnitCopies::Emit(const Index& stage, const Index& slot, Block* block) {
  for (const Piece& piece : pieces_) {
    const Index to =
        slot * stage_elements() + context_.Place() + Index(piece.first_row * kUnitDepth + piece.at);
    if (piece.first_row + context_.rows_at_once() <= axis_.step) {
      EmitPiece(piece, stage, to, block);
    } else {
      Block last;
      EmitPiece(piece, stage, to, &last);
      block->push_back(When({Less(RowOf(piece), Index(axis_.step))}, std::move(last)));
    }
  }
  if (!AdvancesWithStages()) return;
  for (const Pointer& pointer : pointers_) {
    block->push_back({AdvancePointer{pointer.name, Index(*step_ * kUnitDepth)}});
  }
}

}  // namespace mdh
