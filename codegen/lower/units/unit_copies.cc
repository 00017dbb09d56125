#include "codegen/lower/units/unit_copies.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kFewestAsyncBytes = 4;

}  // namespace

UnitCopies::UnitCopies(UnitContext& context, bool is_a)
    : context_(context),
      in_memory_(is_a ? context.plan().a_in_memory : context.plan().b_in_memory),
      is_a_(is_a),
      plan_(is_a ? context.plan().a : context.plan().b),
      axis_(is_a ? context.m() : context.n()),
      first_(is_a ? context.FirstM() : context.FirstN()),
      access_(context.expression().input_access(plan_.parameter)),
      buffer_(context.expression().inputs()[access_.buffer]),
      offset_(Split(context.expression(), buffer_.Linearized(access_.access))),
      step_(StepAlongK()),
      input_(context.kernel_names().inputs[access_.buffer]),
      source_(is_packed() ? context.names().Unique(input_ + "_packed") : input_),
      array_(context.names().Unique(input_ + "_sm")) {}

void UnitCopies::DeclareShared(int64_t bytes, Block* block) const {
  const int64_t elements = std::max(stage_elements() * context_.plan().places,
                                    CeilDivide(bytes, context_.element_bytes()));
  block->push_back({DeclareArray{array_, context_.element(), elements, MemorySpace::kShared,
                                 kOperandAlignment}});
}

// Its point along m or n, and along k. Neither need exist.
Index UnitCopies::Own(const Piece& piece) const {
  const Index row = RowOf(piece);
  if (!plan_.is_across) return first_ + row;
  return Simplified(first_ + row / context_.depth() * context_.depth() + InRow(piece),
                    context_.Ranges());
}

Index UnitCopies::AlongK(const Piece& piece, const Index& stage) const {
  const Index in_stage = plan_.is_across ? RowOf(piece) % context_.depth() : InRow(piece);
  return stage * context_.depth() + Simplified(in_stage, context_.Ranges());
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
  const auto alignment = static_cast<int>(plan_.width * context_.element_bytes());
  block->push_back({DeclarePointer{name, context_.element(), true, source_, base, alignment}});
  pointers_.push_back({name, base});
  piece->pointer = name;
  piece->offset = 0;
}

void UnitCopies::DeclarePointers(const Index& first, Block* block) {
  for (int64_t row = 0; row < axis_.step; row += context_.rows_at_once()) {
    for (int64_t at = 0; at < context_.piece_elements(); at += plan_.width) {
      Piece piece{row, at, "", 0};
      Index base = BaseOf(Own(piece), block);
      if (AdvancesWithStages()) base = base + AlongK(piece, first) * *step_;
      FindPointer(base.Sum().ToIndex(), &piece, block);
      pieces_.push_back(std::move(piece));
    }
  }
}

// From one element along k to the next; nullopt: that depends on where they are.
std::optional<int64_t> UnitCopies::StepAlongK() const {
  if (is_packed()) return plan_.is_across ? plan_.packed_row : 1;
  return context_.CoefficientAlong(context_.k(), offset_.reduced);
}

// What of an element's offset does not depend on k.
Index UnitCopies::BaseOf(const Index& own, Block* block) {
  if (!is_packed()) {
    return context_.OfBlock(offset_.kept) +
           context_.Along(axis_, offset_.kept, own, input_ + "_point", block);
  }
  if (plan_.is_across) return context_.Batch() * (context_.k().points * plan_.packed_row) + own;
  return context_.Batch() * (axis_.points * plan_.packed_row) + own * plan_.packed_row;
}

std::vector<Condition> UnitCopies::Exists(const Index& own, const Index& along_k) const {
  std::vector<Condition> conditions;
  if (OwnPoints() % axis_.step != 0) conditions.push_back(Less(own, Index(OwnPoints())));
  if (KPoints() % context_.depth() != 0) conditions.push_back(Less(along_k, Index(KPoints())));
  return conditions;
}

// That the point is inside of a buffer with a boundary.
std::vector<Condition> UnitCopies::Inside(const Index& own, const Index& along_k,
                                          const UnitContext::Point& block_point, Block* block) {
  std::vector<Condition> conditions;
  if (!has_boundary()) return conditions;
  UnitContext::Point point = block_point;
  context_.SetPoint(axis_, own, input_ + "_point", &point, block);
  context_.SetPoint(context_.k(), along_k, input_ + "_k", &point, block);
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

void UnitCopies::EmitElements(const LoopValueType& type, const std::string& from, const Index& at,
                              const std::string& target, const Index& to,
                              std::vector<Condition> conditions, Block* block) const {
  Block copy = {{StoreElements{target, to, MakeLoad(from, at, type, 1), 1}}};
  if (conditions.empty()) return Append(std::move(copy), block);
  const ScalarType in_register = RegisterType(type.scalar);
  const LoopValue zero = StoredValue(MakeLiteral(ScalarValue::Zero(in_register)), type.scalar);
  Block clear;
  for (int lane = 0; lane < type.lanes; ++lane) {
    clear.push_back({StoreElements{target, to + Index(lane), zero, 1}});
  }
  block->push_back(
      {If{std::move(conditions), ShareBlock(std::move(copy)), ShareBlock(std::move(clear))}});
}

void UnitCopies::EmitPiece(const Piece& piece, const Index& stage, const Index& to, Block* block) {
  const Index along_k = AlongK(piece, stage);
  std::vector<Condition> conditions = Exists(Own(piece), along_k);
  if (!is_packed()) {
    for (Condition& inside : Inside(Own(piece), along_k, context_.block_point(), block)) {
      conditions.push_back(std::move(inside));
    }
  }
  Index from(piece.offset);
  if (!AdvancesWithStages()) {
    from = context_.Along(context_.k(), offset_.reduced, along_k, input_ + "_k", block) + from;
  }
  if (plan_.width * context_.element_bytes() < kFewestAsyncBytes) {
    return EmitElements({context_.element(), 1}, piece.pointer, from, array_, to,
                        std::move(conditions), block);
  }
  const LoopValueType type{context_.element(), plan_.width};
  block->push_back({AsyncCopy{array_, to, piece.pointer, from, type, std::move(conditions)}});
}

void UnitCopies::Emit(const Index& stage, const Index& slot, Block* block) {
  for (const Piece& piece : pieces_) {
    const Index to = slot * stage_elements() + context_.Place() +
                     Index(piece.first_row * context_.depth() + piece.at);
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
    block->push_back({AdvancePointer{pointer.name, Index(*step_ * context_.depth())}});
  }
}

}  // namespace mdh
