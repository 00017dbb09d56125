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

// Vectors as long have instructions with an operand that is loaded for all lanes.
constexpr int kFlippedWhenLoaded = 64;

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
    broadcast = Flipped(broadcast, point.width(), block);
    if (!plan_.shares_excess()) CountExcess(point, step, words.vector, block);
    excess_of_[PointKey(point)] = WordsKey(point);
  }
  const int lanes = point.width();
  LoopValue a = broadcast->type.lanes == lanes ? broadcast : MakeSplat(broadcast, lanes);
  LoopValue b = words.vector;
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

void TileAccumulators::Take(const TilePoint& point, const std::string& array, const Index& offset,
                            Block& block) {
  bool is_new;
  const Accumulator& accumulator = accumulators_[Find(point, point, /*step_number=*/0, is_new)];
  const LoopValueType type{result_type(0), accumulator.width};
  block.push_back({DeclareValue{accumulator.names[0], MakeLoad(array, offset, type, 1),
                                /*is_mutable=*/true}});
}

// The word with flipped signs, once in a block. In all lanes where an instruction flips what it
// loads for them: a word alone would take a register of integers, and be moved from there.
LoopValue TileAccumulators::Flipped(const LoopValue& word, int lanes, Block& block) {
  const bool in_lanes = lanes * kWordBytes == kFlippedWhenLoaded;
  if (in_lanes && signs_.empty()) signs_ = names_.Unique("signs");
  const LoopValueType type{word->type.scalar, in_lanes ? lanes : 1};
  std::string& flipped =
      flipped_words_[absl::StrCat(std::get<NamedValue>(word->form).name, "|", type.lanes)];
  if (flipped.empty()) {
    flipped = names_.Unique("flipped_0");
    const LoopValue value = in_lanes
                                ? MakeOperation(ScalarOp::kBitXor, type.scalar,
                                                {MakeSplat(word, lanes), MakeNamed(signs_, type)})
                                : FlipSigns(word);
    block.push_back({DeclareValue{flipped, value}});
  }
  return MakeNamed(flipped, type);
}

std::string TileAccumulators::WordsKey(const TilePoint& point) const {
  std::string key;
  for (int d = 0; d < plan_.rank(); ++d) {
    const bool is_its_own = !plan_.is_reduction(d) && plan_.has_words_along(d);
    absl::StrAppend(&key, is_its_own ? point.pieces[d].offset : 0, "|");
  }
  return absl::StrCat(key, point.width());
}

void TileAccumulators::CountExcess(const TilePoint& point, const TilePoint& step,
                                   const LoopValue& vector, Block& block) {
  const auto [position, is_new] =
      excesses_.try_emplace(WordsKey(point), Excess{"", point.width(), excess_lanes_, {}});
  Excess& excess = position->second;
  if (is_new) {
    excess.name = NameOf(0, point, "_excess");
    excess_lanes_ += excess.width;
  }
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

void TileAccumulators::DeclareSigns(Block& body) const {
  if (signs_.empty()) return;
  body.push_back({DeclareValue{signs_, FlippedZeros(kFlippedWhenLoaded / kWordBytes),
                               /*is_mutable=*/true}});
  body.push_back({KeepInRegister{signs_, kFlippedWhenLoaded}});
}

void TileAccumulators::DeclareExcesses(Block& block) const {
  if (!has_loops_) return;
  for (const auto& [key, excess] : excesses_) {
    const LoopValue zero = MakeSplat(MakeLiteral(ScalarValue::Zero(result_type(0))), excess.width);
    block.push_back({DeclareValue{excess.name, zero, /*is_mutable=*/true}});
  }
}

void TileAccumulators::StoreExcesses(Block& block) const {
  for (const auto& [key, excess] : excesses_) {
    const LoopValue value = MakeNamed(excess.name, {result_type(0), excess.width});
    block.push_back({StoreElements{plan_.excess_name(), Index(excess.offset), value, 1}});
  }
}

// Once for every result, of which there may be several accumulators.
void TileAccumulators::SubtractExcess(Block& body) {
  std::map<std::string, LoopValue> values;  // by words
  for (const auto& [key, excess] : excesses_) {
    const LoopValueType type{result_type(0), excess.width};
    values[key] = plan_.shares_excess()
                      ? NamedInBlock(MakeLoad(plan_.excess_name(), Index(excess.offset), type, 1),
                                     names_, body)
                      : MakeNamed(excess.name, type);
  }
  std::set<std::string> done;
  for (const Accumulator& accumulator : accumulators_) {
    const std::string point = PointKey(accumulator.point);
    const auto key = excess_of_.find(point);
    if (key == excess_of_.end() || !done.insert(point).second) continue;
    body.push_back({Assign{accumulator.names[0],
                           MakeOperation(ScalarOp::kSub, result_type(0),
                                         {Named(accumulator, 0), values.at(key->second)})}});
  }
}

}  // namespace mdh
