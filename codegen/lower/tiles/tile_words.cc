// Loads of words for dot instructions: from copies that have them, or from where elements are.
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/dot_words.h"
#include "codegen/lower/tiles/tile_inputs.h"

namespace mdh {

LoopValue TileInputs::LoadWord(const DotOperand& operand, const TilePoint& point, Block& block) {
  const Buffer& buffer = plan_.expression().inputs()[operand.buffer];
  const StagedCopy* copy = plan_.StagedInput(operand.buffer);
  if (copy == nullptr && place_ == TilePlace::kAnywhere &&
      buffer.boundary.kind != Boundary::Kind::kNone) {
    return LoadWordAtBoundary(operand, point, block);
  }
  const Address address = AddressOf(operand.parameter);
  if (copy == nullptr) return LoadWordInPlace(operand, address, point, block);
  const auto load = [&](const Index& at, int width, int64_t stride) {
    return MakeLoad(address.pointer, at, {ScalarType::kUint32, width}, stride);
  };
  return LoadOnce(address, point, "", /*bytes=*/0, load, block);
}

TileInputs::WordPlace TileInputs::PlaceOfWords(const DotOperand& operand, const TilePoint& point,
                                               int d, Block& block) {
  const Address address = AddressOf(operand.parameter);
  const int64_t bytes =
      plan_.StagedInput(operand.buffer) != nullptr ? kWordBytes : SizeBytes(operand.type);
  return {address.pointer, BaseOf(address, block) + Index(address.OffsetOf(point)),
          d < 0 ? kWordBytes * kTileWords : address.step[d] * bytes};
}

// Whole words where their elements are neighbours, element by element elsewhere.
LoopValue TileInputs::LoadWordInPlace(const DotOperand& operand, const Address& address,
                                      const TilePoint& point, Block& block) {
  const int d = plan_.dot()->dimension, depth = point.pieces[d].depth;
  const int64_t apart = address.step[d];
  const auto load = [&](const Index& at, int width, int64_t stride) {
    if (apart == 1 && depth == plan_.dot()->group) {
      return MakeLoadWords(address.pointer, at, width, stride);
    }
    std::vector<LoopValue> bits;
    for (int n = 0; n < depth; ++n) {
      bits.push_back(
          LoadBits(address.pointer, at + Index(n * apart), {operand.type, width}, stride));
    }
    return JoinBits(bits, operand.type);
  };
  return LoadOnce(address, point, absl::StrCat("word of ", depth), SizeBytes(operand.type), load,
                  block);
}

LoopValue TileInputs::LoadWordAtBoundary(const DotOperand& operand, const TilePoint& point,
                                         Block& block) {
  const Buffer& buffer = plan_.expression().inputs()[operand.buffer];
  const int d = plan_.dot()->dimension;
  std::vector<LoopValue> bits;
  for (int n = 0; n < point.pieces[d].depth; ++n) {
    const InsidePlace place = PlaceInside(operand.parameter, point, d, n);
    bits.push_back(LoadBitsInside(buffer, plan_.input_pointer(operand.parameter), place.indices,
                                  place.lane_steps, place.lanes));
  }
  return NamedInBlock(JoinBits(bits, operand.type), names_, block);
}

}  // namespace mdh
