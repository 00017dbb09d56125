// Accumulators of dot instructions.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/dot_words.h"
#include "codegen/lower/tiles/tile_accumulators.h"

namespace mdh {
namespace {

std::string OffsetsOfPieces(const TilePoint& point) {
  std::string text;
  for (const TilePiece& piece : point.pieces) absl::StrAppend(&text, piece.offset, "|");
  return text;
}

}  // namespace

void TileAccumulators::AddDot(const TilePoint& point, const TilePoint& step, size_t step_number,
                              const DotWords& words, Block& block) {
  const DotSides& sides = plan_.dot_sides();
  LoopValue broadcast = words.broadcast;
  if (sides.flips_broadcast) {
    std::string& flipped = flipped_words_[std::get<NamedValue>(broadcast->form).name];
    if (flipped.empty()) {
      flipped = names_.Unique("flipped_0");
      block.push_back({DeclareValue{flipped, FlipSigns(broadcast)}});
    }
    broadcast = MakeNamed(flipped, broadcast->type);
    CountExcess(point, step, words.vector, block);
  }
  const int lanes = point.width();
  LoopValue a = MakeSplat(std::move(broadcast), lanes), b = words.vector;
  if (plan_.dot()->is_bytes() && !sides.vector_is_signed) std::swap(a, b);
  bool is_new;
  const Accumulator& accumulator = accumulators_[Find(point, step, step_number, is_new)];
  const std::string& name = accumulator.names[0];
  if (is_new && !has_loops_) {
    const LoopValue zero = MakeSplat(MakeLiteral(ScalarValue::Zero(result_type(0))), lanes);
    block.push_back({DeclareValue{name, MakeAddDots(zero, a, b), /*is_mutable=*/true}});
  } else {
    block.push_back({Assign{name, MakeAddDots(Named(accumulator, 0), a, b)}});
  }
}

// Once for all results with these words.
void TileAccumulators::CountExcess(const TilePoint& point, const TilePoint& step,
                                   const LoopValue& vector, Block& block) {
  const DotOperand& operand = plan_.dot_sides().vector;
  const Expression::AccessRef ref = expression().input_access(operand.parameter);
  const IndexFunction& access = expression().inputs()[ref.buffer].accesses[ref.access];
  std::string key;
  for (int d = 0; d < plan_.rank(); ++d) {
    const bool is_its_own = !plan_.is_reduction(d) &&
                            std::ranges::any_of(access.indices, [d](const AffineIndex& index) {
                              return index.coefficients[d] != 0;
                            });
    absl::StrAppend(&key, is_its_own ? point.pieces[d].offset : 0, "|");
  }
  absl::StrAppend(&key, point.width());
  const auto [position, is_new] = excesses_.try_emplace(key, Excess{"", point.width(), {}});
  Excess& excess = position->second;
  if (is_new) excess.name = NameOf(0, point, "_excess");
  excess_of_[PointKey(point)] = key;
  if (!excess.counted.insert(OffsetsOfPieces(step)).second) return;
  LoopValue a = FlippedZeros(excess.width), b = vector;
  if (!plan_.dot_sides().vector_is_signed) std::swap(a, b);
  const LoopValueType type{result_type(0), excess.width};
  if (is_new && !has_loops_) {
    const LoopValue zero = MakeSplat(MakeLiteral(ScalarValue::Zero(type.scalar)), type.lanes);
    block.push_back({DeclareValue{excess.name, MakeAddDots(zero, a, b), /*is_mutable=*/true}});
  } else {
    block.push_back({Assign{excess.name, MakeAddDots(MakeNamed(excess.name, type), a, b)}});
  }
}

// Once for every result, of which there may be several accumulators.
void TileAccumulators::SubtractExcess(Block& body) {
  std::set<std::string> done;
  for (const Accumulator& accumulator : accumulators_) {
    const std::string point = PointKey(accumulator.point);
    const auto key = excess_of_.find(point);
    if (key == excess_of_.end() || !done.insert(point).second) continue;
    const Excess& excess = excesses_.at(key->second);
    const LoopValue less = MakeNamed(excess.name, {result_type(0), excess.width});
    body.push_back({Assign{accumulator.names[0], MakeOperation(ScalarOp::kSub, result_type(0),
                                                               {Named(accumulator, 0), less})}});
  }
}

}  // namespace mdh
