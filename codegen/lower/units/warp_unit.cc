#include "codegen/lower/units/warp_unit.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace mdh {
WarpUnit::WarpUnit(UnitContext& context, const UnitCopies& a, const UnitCopies& b)
    : context_(context),
      instruction_(*WarpInstruction(context.plan(), context.unit().warps)),
      a_{.copies = &a,
         .layout = &instruction_.a_layout,
         .axis = MatrixAxis::kM,
         .tiles = context.unit().rows / context.unit().warps.along_m / instruction_.m,
         .tile_points = instruction_.m,
         .first = context.Sums().first_row,
         .array = context.names().Unique("a_part")},
      b_{.copies = &b,
         .layout = &instruction_.b_layout,
         .axis = MatrixAxis::kN,
         .tiles = context.unit().columns / context.unit().warps.along_n / instruction_.n,
         .tile_points = instruction_.n,
         .first = context.Sums().first_column,
         .array = context.names().Unique("b_part")} {}

void WarpUnit::Declare(Block* block) {
  for (Side* side : {&a_, &b_}) {
    block->push_back({DeclareArray{side->array, context_.element(), 2 * side->of_step(),
                                   MemorySpace::kPrivate}});
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
    if (digit.axis == axis) at = at + value * digit.stride;
  }
  return at;
}

// Of the element that lane 0 has at `point` of the warp's tiles, in a step that begins at
// `first_k`. Points of lane 0 along k are at multiples of a piece, and along m or n of 8: rows
// modulo 8 are those of the lane.
Index WarpUnit::PlaceOf(const Side& side, const MatrixPoint& point, int64_t first_k) const {
  const int64_t depth = context_.depth(), piece = context_.piece_elements();
  const Index own = OfLane(*side.layout, side.axis), k = OfLane(*side.layout, MatrixAxis::kK);
  const int64_t own_of_0 = point[static_cast<size_t>(side.axis)],
                k_of_0 = first_k + point[static_cast<size_t>(MatrixAxis::kK)];
  const auto in_row = [&](const Index& first_piece, const Index& of_lane, const Index& row) {
    return context_.Swizzled(first_piece + of_lane / piece, row) * piece + of_lane % piece;
  };
  if (!side.copies->is_across()) {
    return (side.first + own) * depth + Index(own_of_0 * depth) +
           in_row(Index(k_of_0 / piece), k, own);
  }
  const Index row = k * depth + Index(k_of_0 * depth);
  if (side.tiles * side.tile_points % depth == 0) {
    return (side.first + Index(own_of_0 / depth * depth)) * depth + row +
           in_row(Index(own_of_0 % depth / piece), own, k);
  }
  const Index at = side.first + own + Index(own_of_0);
  return at / depth * (depth * depth) + row + context_.Swizzled(at % depth / piece, k) * piece +
         own % piece;
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
  for (int64_t step = 0; step < steps(); ++step) {
    for (int64_t tile = 0; tile < side->tiles; ++tile) {
      for (int64_t reg = 0; reg < side->registers(); ++reg) {
        MatrixPoint point = side->layout->At({.reg = reg});
        point[static_cast<size_t>(side->axis)] += tile * side->tile_points;
        add(PlaceOf(*side, point, step * instruction_.k));
      }
    }
  }
}

void WarpUnit::Load(const Index& slot, int64_t step, Block* block) const {
  for (const Side* side : {&a_, &b_}) {
    const Index stage = slot * side->copies->stage_elements();
    for (int64_t n = 0; n < side->of_step(); ++n) {
      const auto& [name, offset] = side->places[static_cast<size_t>(step * side->of_step() + n)];
      block->push_back({StoreElements{
          side->array, FirstOfStep(*side, step) + Index(n),
          MakeLoad(side->copies->array(), stage + Index::Variable(name) + Index(offset),
                   {context_.element(), 1}, 1),
          1}});
    }
  }
}

void WarpUnit::Multiply(int64_t step, Block* block) const {
  const std::string i = context_.names().Unique("tile_m"), j = context_.names().Unique("tile_n");
  const int64_t sums = instruction_.c_layout.Count(DigitPlace::kRegister);
  const Index tile = Index::Variable(i) * b_.tiles + Index::Variable(j);
  const auto fragment = [&](const Side& side, const std::string& number) {
    return HeldFragment{side.array,
                        FirstOfStep(side, step) + Index::Variable(number) * side.registers()};
  };
  Block multiply = {{WarpMultiply{
      &instruction_, {context_.sums, tile * sums}, fragment(a_, i), fragment(b_, j)}}};
  Block columns = {Unrolled(j, b_.tiles, std::move(multiply))};
  block->push_back(Unrolled(i, a_.tiles, std::move(columns)));
}

}  // namespace mdh
