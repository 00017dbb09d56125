#include "codegen/lower/units/unit_copies.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/round.h"

namespace mdh {

UnitCopies::UnitCopies(UnitContext& context, bool is_a, const UnitCopies* of_a)
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
      values_(context, is_a),
      tensor_(plan_.is_tensor
                  ? *TensorOfUnit(context.expression(), context.plan(), context.unit(), is_a)
                  : UnitTensor()),
      input_(context.kernel_names().inputs[access_.buffer]),
      source_(is_packed_as_a() ? of_a->source_
              : is_packed()    ? context.names().Unique(input_ + "_packed")
                               : input_),
      map_(context.names().Unique(input_ + "_map")),
      array_(is_shared() ? of_a->array_ : context.names().Unique(input_ + "_sm")),
      own_elements_(context.piece_elements()),
      rows_at_once_(context.rows_at_once()),
      row_(context.row),
      in_row_(context.piece),
      places_({context.place}) {}

void UnitCopies::DeclareShared(int64_t bytes, Block* block) const {
  if (is_shared()) return;
  const int64_t elements = std::max(stage_elements() * context_.plan().places,
                                    CeilDivide(bytes, context_.element_bytes()));
  block->push_back(
      {DeclareArray{array_, element(), elements, MemorySpace::kShared, kOperandAlignment}});
}

void UnitCopies::DeclareFor(const std::string& name, const Index& slot, const Index& from,
                            Block* block) const {
  constexpr int64_t kEightRows = 8 * kOperandRowBytes, kUnused = 16;
  const int64_t leading = is_across() ? depth() * kOperandRowBytes : kUnused;
  block->push_back(
      {DeclareOperand{name, array_, slot * stage_elements() + from, leading, kEightRows}});
}

UnitOperand UnitCopies::OperandOf(int64_t step, const std::string& name, int64_t first_row) const {
  const int64_t elements = kMultipliedBytes / context_.element_bytes();
  const int64_t of_step = is_across() ? elements * kOperandRowBytes : kMultipliedBytes;
  return {name, element(), first_row * kOperandRowBytes + step * of_step, is_across()};
}

// Its point along m or n, and along k. Neither need exist.
Index UnitCopies::Own(const Piece& piece) const {
  const Index row = RowOf(piece);
  if (!plan_.is_across) return first_ + row;
  return Simplified(first_ + row / context_.depth() * context_.depth() + InRow(piece), Ranges());
}

Index UnitCopies::AlongK(const Piece& piece, const Index& stage) const {
  const Index in_stage = plan_.is_across ? RowOf(piece) % context_.depth() : InRow(piece);
  return stage * context_.depth() + Simplified(in_stage, Ranges());
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
  block->push_back({DeclarePointer{name, element(), true, source_, base, alignment}});
  pointers_.push_back({name, base});
  piece->pointer = name;
  piece->offset = 0;
}

// Copies of less than a piece are of neighbours by neighbouring threads, where rows and stages are
// as far from each other everywhere: what a warp asks for at once lies together in memory, and in
// banks of its own in shared memory.
bool UnitCopies::IsNarrow() const {
  if (is_computed() || plan_.width == context_.piece_elements() || !AdvancesWithStages()) {
    return false;
  }
  if (!is_packed() && !context_.CoefficientAlong(axis_, offset_.kept).has_value()) return false;
  return context_.threads() % (context_.depth() / plan_.width) == 0;
}

// Neighbouring threads read neighbours in memory: of rows along k that is across it those of
// neighbouring rows.
void UnitCopies::TakeRowsBy(Block* block) {
  if (IsNarrow()) {
    own_elements_ = plan_.width;
    const int64_t of_row = context_.depth() / own_elements_;
    rows_at_once_ = context_.threads() / of_row;
    DeclareOwn(context_.Thread() / of_row, context_.Thread() % of_row, block);
  } else if (is_computed() && in_memory_.is_across != plan_.is_across) {
    DeclareOwn(context_.Thread() % rows_at_once_, context_.Thread() / rows_at_once_, block);
  }
}

void UnitCopies::DeclareOwn(Index first_row, Index in_row, Block* block) {
  const int64_t alike = context_.element_bytes() == 8 ? 4 : 8;  // rows on it is swizzled alike
  for (std::string* name : {&row_, &in_row_}) *name = context_.names().Unique(*name);
  block->push_back({DeclareIndex{row_, std::move(first_row)}});
  block->push_back({DeclareIndex{in_row_, std::move(in_row)}});
  const int64_t piece = context_.piece_elements();
  const Index at = Index::Variable(in_row_) * own_elements_;
  places_.clear();
  for (int64_t n = 0; n < alike / std::gcd(alike, rows_at_once_); ++n) {
    const Index there = Index::Variable(row_) + Index(n * rows_at_once_);
    const Index in_it =
        Simplified(context_.Swizzled(at / piece, there) * piece + at % piece, Ranges());
    places_.push_back(context_.names().Unique(context_.place));
    block->push_back({DeclareIndex{places_.back(), there * context_.depth() + in_it}});
  }
}

Index UnitCopies::PlaceOf(const Piece& piece, const Index& slot) const {
  const int64_t number = piece.first_row / rows_at_once_ % std::ssize(places_);
  return slot * stage_elements() + Index::Variable(places_[static_cast<size_t>(number)]) +
         Index((piece.first_row - number * rows_at_once_) * context_.depth() + piece.at);
}

void UnitCopies::DeclareMap(Block* block) const {
  DeclareTensorMap map{map_, source_, tensor_.offset, element(), {}, {}, {}};
  for (const TensorDimension& dimension : tensor_.dimensions) {
    const bool is_along = dimension.along != TensorDimension::Along::kBatch && dimension.inner == 1;
    map.extents.push_back(dimension.points);
    map.strides.push_back(dimension.stride);
    map.box.push_back(map.box.empty() ? tensor_.row : is_along ? tensor_.rows : 1);
  }
  block->push_back({std::move(map)});
}

// Copies one behind the other, each from further points along m or n: of those that blocks of a
// cluster have in common, the block's.
void UnitCopies::EmitTensor(const Index& stage, const Index& slot, const std::string& barriers,
                            Block* block) const {
  const UnitParameters& unit = context_.unit();
  const int sharers = unit.sharers_of(is_a_);
  const Index sharer = is_a_ ? context_.ClusterN() : context_.ClusterM();
  const int64_t points = plan_.is_across ? tensor_.row : tensor_.rows;
  const int64_t share = tensor_.is_shared_along_k ? plan_.rows : plan_.rows / sharers;
  const Index first_own = share < plan_.rows ? sharer * share : Index(0);
  const Index first_k = tensor_.is_shared_along_k ? sharer * tensor_.rows : Index(0);
  for (int64_t n = 0; n < share; n += points) {
    const Index own = first_own + Index(n);
    const Index to = slot * stage_elements() + own * context_.depth() + first_k * tensor_.row;
    TensorCopy copy{map_, {}, array_, to, barriers, slot};
    if (sharers > 1) {
      copy.blocks = sharers;
      copy.step = is_a_ ? unit.cluster_m : 1;
      copy.first_block = is_a_ ? context_.ClusterM() : context_.ClusterN() * unit.cluster_m;
    }
    for (const TensorDimension& dimension : tensor_.dimensions) {
      using Along = TensorDimension::Along;
      const Index composite = dimension.along == Along::kK     ? stage * context_.depth() + first_k
                              : dimension.along == Along::kOwn ? first_ + own
                                                               : context_.Batch();
      const Index at = composite / dimension.inner;
      copy.coordinates.push_back(dimension.is_outermost ? at : at % dimension.points);
    }
    block->push_back({std::move(copy)});
  }
}

void UnitCopies::DeclarePointers(const Index& first, Block* block) {
  if (is_tensor() || is_shared()) return;
  TakeRowsBy(block);
  if (is_computed()) {
    for (int64_t row = 0; row < plan_.rows; row += rows_at_once_) {
      pieces_.push_back({row, 0, "", 0});
      pieces_.back().loaded = values_.Declare(context_.piece_elements(), plan_.is_across, block);
    }
    return;
  }
  for (int64_t row = 0; row < plan_.rows; row += rows_at_once_) {
    for (int64_t at = 0; at < own_elements_; at += plan_.width) {
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
  const bool is_whole = OwnPoints() % axis_.step == 0 && plan_.rows == axis_.step;
  if (!is_whole) conditions.push_back(Less(own, Index(OwnPoints())));
  if (KPoints() % context_.depth() != 0) conditions.push_back(Less(along_k, Index(KPoints())));
  return conditions;
}

std::vector<Condition> UnitCopies::Inside(const Index& own, const Index& along_k,
                                          const UnitContext::Point& block_point, Block* block) {
  if (!has_boundary()) return {};
  UnitContext::Point point = block_point;
  context_.SetPoint(axis_, own, input_ + "_point", &point, block);
  context_.SetPoint(context_.k(), along_k, input_ + "_k", &point, block);
  return InsideOf(context_.expression(), access_, point);
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
  if (plan_.width * context_.element_bytes() < kFewestCopiedBytes) {
    return UnitValues::EmitElements({element(), 1}, piece.pointer, from, array_, to,
                                    std::move(conditions), block);
  }
  const LoopValueType type{element(), plan_.width};
  block->push_back({AsyncCopy{array_, to, piece.pointer, from, type, std::move(conditions)}});
}

void UnitCopies::OverComputed(const std::function<void(const Piece& piece, Block* block)>& emit,
                              Block* block) const {
  for (const Piece& piece : pieces_) {
    if (piece.first_row + rows_at_once_ <= plan_.rows) {
      emit(piece, block);
    } else {
      Block last;
      emit(piece, &last);
      block->push_back(When({Less(RowOf(piece), Index(plan_.rows))}, std::move(last)));
    }
  }
}

UnitValues::Neighbours UnitCopies::NeighboursOf(const Piece& piece, const Index& stage) const {
  return {Own(piece), AlongK(piece, stage), plan_.is_across, context_.piece_elements()};
}

void UnitCopies::Load(const Index& stage, Block* block) const {
  if (!is_computed()) return;
  const auto exists = [&](const Index& own, const Index& k) { return Exists(own, k); };
  OverComputed(
      [&](const Piece& piece, Block* to) {
        values_.EmitLoads(piece.loaded, NeighboursOf(piece, stage), context_.block_point(), exists,
                          to);
      },
      block);
}

void UnitCopies::Write(const Index& stage, const Index& slot, Block* block) const {
  const int64_t count = context_.piece_elements();
  const auto exists = [&](const Index& own, const Index& k) { return Exists(own, k); };
  OverComputed(
      [&](const Piece& piece, Block* to) {
        const std::string values = values_.EmitValues(piece.loaded, NeighboursOf(piece, stage),
                                                      context_.block_point(), exists, to);
        if (context_.plan().is_converted()) to->push_back({RoundToTf32{{values, Index(0)}, count}});
        const Index at = PlaceOf(piece, slot);
        const LoopValueType type{element(), static_cast<int>(count)};
        to->push_back({StoreElements{array_, at, MakeLoad(values, Index(0), type, 1), 1}});
      },
      block);
}

void UnitCopies::Emit(const Index& stage, const Index& slot, Block* block) {
  if (is_tensor() || is_shared()) return;
  if (is_computed()) return Write(stage, slot, block);
  for (const Piece& piece : pieces_) {
    const Index to = PlaceOf(piece, slot);
    if (piece.first_row + rows_at_once_ <= plan_.rows) {
      EmitPiece(piece, stage, to, block);
    } else {
      Block last;
      EmitPiece(piece, stage, to, &last);
      block->push_back(When({Less(RowOf(piece), Index(plan_.rows))}, std::move(last)));
    }
  }
  if (!AdvancesWithStages()) return;
  for (const Pointer& pointer : pointers_) {
    block->push_back({AdvancePointer{pointer.name, Index(*step_ * context_.depth())}});
  }
}

}  // namespace mdh
