#include "codegen/lower/units/unit_copies.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kFewestAsyncBytes = 4;

}  // namespace

UnitCopies::UnitCopies(UnitContext& context, bool is_a)
    : context_(context),
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

void UnitCopies::DeclareShared(Block* block) const {
  block->push_back(
      {DeclareArray{array_, context_.element(), stage_elements() * context_.unit().stages,
                    MemorySpace::kShared, kOperandAlignment}});
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

void UnitCopies::EmitElement(const std::string& from, const Index& at, const std::string& target,
                             const Index& to, std::vector<Condition> conditions,
                             Block* block) const {
  const LoopValueType type{context_.element(), 1};
  Block copy = {{StoreElements{target, to, MakeLoad(from, at, type, 1), 1}}};
  if (conditions.empty()) return Append(std::move(copy), block);
  const ScalarType in_register = RegisterType(context_.element());
  const LoopValue zero =
      StoredValue(MakeLiteral(ScalarValue::Zero(in_register)), context_.element());
  Block clear = {{StoreElements{target, to, zero, 1}}};
  block->push_back(
      {If{std::move(conditions), ShareBlock(std::move(copy)), ShareBlock(std::move(clear))}});
}

int64_t UnitCopies::EmitPacking(LoopProgram* program, Block* block) {
  NameAllocator& names = context_.names();
  const int64_t row_pieces = plan_.packed_row / context_.piece_elements();
  const int64_t rows = plan_.is_across ? context_.k().points : axis_.points;
  const int64_t pieces = context_.plan().batches * rows * row_pieces;
  program->scratch.push_back(
      {source_, context_.element(), pieces * context_.piece_elements(), false});
  const std::string item = names.Unique("item"), eight = names.Unique("eight");
  Block body = {
      {DeclareArray{eight, context_.element(), context_.piece_elements(), MemorySpace::kPrivate}}};
  const Index number = Index::Variable(item), row = number / row_pieces;
  UnitContext::Point point(context_.expression().rank(), Index(0));
  context_.SetPoint(context_.Batches(), row / rows, "batch", &point, &body);
  for (int64_t at = 0; at < context_.piece_elements(); ++at) {
    const Index inner = number % row_pieces * context_.piece_elements() + Index(at);
    const Index own = plan_.is_across ? inner : row % rows;
    const Index along_k = plan_.is_across ? row % rows : inner;
    const int64_t points = plan_.is_across ? axis_.points : context_.k().points;
    std::vector<Condition> conditions;
    if (points % context_.piece_elements() != 0) conditions.push_back(Less(inner, Index(points)));
    for (Condition& inside : Inside(own, along_k, point, &body)) {
      conditions.push_back(std::move(inside));
    }
    const Index from = At(offset_.kept, point) +
                       context_.Along(axis_, offset_.kept, own, input_ + "_point", &body) +
                       context_.Along(context_.k(), offset_.reduced, along_k, input_ + "_k", &body);
    EmitElement(input_, from, eight, Index(at), std::move(conditions), &body);
  }
  body.push_back(
      {StoreElements{source_, number * context_.piece_elements(),
                     MakeLoad(eight, Index(0),
                              {context_.element(), static_cast<int>(context_.piece_elements())}, 1),
                     1}});
  block->push_back({ShareLoop{item, pieces, ShareBlock(std::move(body))}});
  return pieces;
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
    return EmitElement(piece.pointer, from, array_, to, std::move(conditions), block);
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
