#include "codegen/lower/units/warp_unit.h"

#include "absl/strings/str_cat.h"
#include "core/decomposition/unit_use.h"

namespace mdh {
namespace {

int64_t Along(const MatrixPoint& point, MatrixAxis axis) {
  return point[static_cast<size_t>(axis)];
}

}  // namespace

WarpUnit::WarpUnit(UnitContext& context, const UnitCopies& a, const UnitCopies& b)
    : context_(context),
      instruction_(*WarpInstruction(context.plan(), context.unit().warps)),
      a_(SideOf(a, /*is_a=*/true)),
      b_(SideOf(b, /*is_a=*/false)) {}

WarpUnit::Side WarpUnit::SideOf(const UnitCopies& copies, bool is_a) const {
  const UnitParameters& unit = context_.unit();
  const SumTiles sums = context_.Sums();
  Side side{.copies = &copies,
            .axis = is_a ? MatrixAxis::kM : MatrixAxis::kN,
            .layout = is_a ? instruction_.a_layout : instruction_.b_layout,
            .points = is_a ? unit.rows / unit.warps.along_m : unit.columns / unit.warps.along_n,
            .first = is_a ? sums.first_row : sums.first_column,
            .array = context_.names().Unique(is_a ? "a_part" : "b_part"),
            .move = std::nullopt};
  const int64_t of_tile = is_a ? instruction_.m : instruction_.n;
  if (side.points > of_tile) {
    side.layout.digits.push_back(
        {DigitPlace::kRegister, side.axis, of_tile, side.points / of_tile});
  }
  side.move = MoveOf(side.layout, static_cast<int>(context_.element_bytes()),
                     copies.is_across() ? side.axis : MatrixAxis::kK);
  return side;
}

void WarpUnit::Declare(Block* block) {
  for (Side* side : {&a_, &b_}) {
    const ScalarType element = side->copies->element();
    const ScalarType held = SizeBytes(element) < 4 ? ScalarType::kUint32 : element;
    block->push_back(
        {DeclareArray{side->array, held, 2 * side->registers(), MemorySpace::kPrivate}});
    DeclarePlaces(side, block);
  }
  const std::string sum = context_.names().Unique("sum");
  const LoopValue zero = MakeLiteral(ScalarValue::Zero(context_.plan().sum));
  block->push_back(Unrolled(sum, UnitSums(context_.unit()),
                            {{StoreElements{context_.sums, Index::Variable(sum), zero, 1}}}));
}

Index WarpUnit::OfLane(const FragmentLayout& layout, MatrixAxis axis) const {
  Index at(0);
  int64_t below = 1;
  for (const LayoutDigit& digit : layout.DigitsOf(DigitPlace::kLane)) {
    Index value = context_.Lane() / below;
    below *= digit.extent;
    if (below < kLanesOfWarp) value = value % digit.extent;
    if (digit.axis == axis && digit.stride > 0) at = at + value * digit.stride;
  }
  return at;
}

// Of what lane 0 has, or points to, at `point` of the warp's tiles, in a step that begins at
// `first_k`. Points of lane 0 along k are at multiples of a piece, and rows at multiples of 8, or
// of 4 of doubles, so that swizzles are those of the lane; rows of tf32 across k are at multiples
// of 4, and swizzled by 8.
Index WarpUnit::PlaceOf(const Side& side, const FragmentLayout& lanes, const MatrixPoint& point,
                        int64_t first_k) const {
  const int64_t depth = context_.depth(), piece = context_.piece_elements();
  const Index own = OfLane(lanes, side.axis), k = OfLane(lanes, MatrixAxis::kK);
  const int64_t own_of_0 = Along(point, side.axis), k_of_0 = first_k + Along(point, MatrixAxis::kK);
  const auto in_row = [&](const Index& first_piece, const Index& of_lane, const Index& row) {
    return context_.Swizzled(first_piece + of_lane / piece, row) * piece + of_lane % piece;
  };
  if (!side.copies->is_across()) {
    return (side.first + own) * depth + Index(own_of_0 * depth) +
           in_row(Index(k_of_0 / piece), k, own);
  }
  const Index row = k * depth + Index(k_of_0 * depth);
  const Index swizzled_by = context_.element_bytes() == 4 ? k + Index(k_of_0 % 8) : k;
  if (side.points % depth == 0) {
    return (side.first + Index(own_of_0 / depth * depth)) * depth + row +
           in_row(Index(own_of_0 % depth / piece), own, swizzled_by);
  }
  const Index at = side.first + own + Index(own_of_0);
  return at / depth * (depth * depth) + row +
         context_.Swizzled(at % depth / piece, swizzled_by) * piece + at % piece;
}

// Places that are as far from each other for all threads have one index.
void WarpUnit::DeclarePlaces(Side* side, Block* block) {
  std::vector<std::pair<std::string, Index>> declared;
  const auto add = [&](const Index& place) {
    for (const auto& [name, at] : declared) {
      if (const std::optional<int64_t> offset = ConstantDifference(place, at)) {
        return side->places.push_back({name, *offset});
      }
    }
    const std::string name = context_.names().Unique(absl::StrCat(side->array, "_at"));
    block->push_back({DeclareIndex{name, place}});
    declared.push_back({name, place});
    side->places.push_back({name, 0});
  };
  const FragmentLayout& lanes = side->move ? side->move->rows : side->layout;
  for (int64_t step = 0; step < steps(); ++step) {
    for (int64_t load = 0; load < side->loads(); ++load) {
      add(PlaceOf(*side, lanes, lanes.At({.reg = load}), step * instruction_.k));
    }
  }
}

void WarpUnit::LoadSide(const Side& side, const Index& slot, int64_t step, Block* block) const {
  const Index stage = slot * side.copies->stage_elements();
  const ScalarType element = side.copies->element();
  for (int64_t n = 0; n < side.loads(); ++n) {
    const auto& [name, offset] = side.places[static_cast<size_t>(step * side.loads() + n)];
    const Index from = stage + Index::Variable(name) + Index(offset);
    const Index to = FirstOfStep(side, step) + Index(n * side.of_load());
    if (side.move.has_value()) {
      block->push_back({LoadMatrices{{side.array, to},
                                     element,
                                     side.move->matrices,
                                     side.move->transposed,
                                     side.copies->array(),
                                     from}});
    } else {
      block->push_back({StoreElements{side.array, to,
                                      MakeLoad(side.copies->array(), from, {element, 1}, 1), 1}});
    }
  }
  const bool is_rounded = side.copies->is_packed() || side.copies->is_computed();
  if (element == ScalarType::kFloat32 && !is_rounded) {
    block->push_back({RoundToTf32{{side.array, FirstOfStep(side, step)}, side.registers()}});
  }
}

void WarpUnit::Load(const Index& slot, int64_t step, Block* block) const {
  for (const Side* side : {&a_, &b_}) LoadSide(*side, slot, step, block);
}

void WarpUnit::AwaitStage(Block* block) const {
  if (instruction_.accumulator != ScalarType::kFloat64) return;
  const int64_t of_tile = instruction_.c_layout.Count(DigitPlace::kRegister);
  block->push_back(
      {AwaitSums{{context_.sums, Index(0)}, UnitSums(context_.unit()) / of_tile, of_tile}});
}

void WarpUnit::Multiply(int64_t step, Block* block) const {
  const std::string i = context_.names().Unique("tile_m"), j = context_.names().Unique("tile_n");
  const int64_t tiles_m = a_.points / instruction_.m, tiles_n = b_.points / instruction_.n;
  const int64_t sums = instruction_.c_layout.Count(DigitPlace::kRegister);
  const Index tile = Index::Variable(i) * tiles_n + Index::Variable(j);
  const auto fragment = [&](const Side& side, const std::string& number, int64_t tiles) {
    return HeldFragment{
        side.array, FirstOfStep(side, step) + Index::Variable(number) * (side.registers() / tiles)};
  };
  Block multiply = {{WarpMultiply{&instruction_,
                                  {context_.sums, tile * sums},
                                  fragment(a_, i, tiles_m),
                                  fragment(b_, j, tiles_n)}}};
  Block columns = {Unrolled(j, tiles_n, std::move(multiply))};
  block->push_back(Unrolled(i, tiles_m, std::move(columns)));
}

}  // namespace mdh
