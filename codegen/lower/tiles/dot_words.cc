#include "codegen/lower/tiles/dot_words.h"

#include <utility>

#include "codegen/program/scalar_code.h"

namespace mdh {
namespace {

constexpr int64_t kSignsOfBytes = 0x80808080;

LoopValue Word(int64_t value) {
  return MakeLiteral(ScalarValue::Integer(ScalarType::kUint32, value));
}

// fp16 and the like are in memory as integers of as many bytes.
ScalarType BitsOf(ScalarType stored) {
  return SizeBytes(stored) == 1 ? stored : ScalarType::kUint16;
}

// Without a sign, which would be extended.
LoopValue AsWords(LoopValue bits) {
  if (bits->type.scalar == ScalarType::kInt8) {
    bits = MakeOperation(ScalarOp::kCast, ScalarType::kUint8, {std::move(bits)});
  }
  return MakeOperation(ScalarOp::kCast, ScalarType::kUint32, {std::move(bits)});
}

}  // namespace

LoopValue LoadBits(const std::string& pointer, const Index& offset, LoopValueType stored,
                   int64_t stride) {
  return AsWords(MakeLoad(pointer, offset, {BitsOf(stored.scalar), stored.lanes}, stride));
}

LoopValue LoadBitsInside(const Buffer& buffer, const std::string& pointer,
                         const std::vector<Index>& indices, const std::vector<int64_t>& lane_steps,
                         int lanes) {
  const ScalarType stored = buffer.type.scalar();
  const std::vector<int64_t> strides = buffer.strides();
  LoadInside load{pointer, {}, 0, std::nullopt};
  if (buffer.boundary.kind == Boundary::Kind::kConstant) {
    uint64_t bits = 0;
    buffer.boundary.values[0].Store(&bits);
    load.outside = ScalarValue::Load(BitsOf(stored), &bits);
  }
  for (size_t x = 0; x < indices.size(); ++x) {
    load.dimensions.push_back({indices[x], lane_steps[x], buffer.extents[x], strides[x]});
  }
  return AsWords(std::make_shared<ValueNode>(ValueNode{{BitsOf(stored), lanes}, std::move(load)}));
}

LoopValue JoinBits(const std::vector<LoopValue>& bits, ScalarType stored) {
  LoopValue word = bits[0];
  int64_t place = 1;
  for (size_t n = 1; n < bits.size(); ++n) {
    place <<= 8 * SizeBytes(stored);
    const LoopValue moved =
        MakeOperation(ScalarOp::kMul, ScalarType::kUint32, {bits[n], Word(place)});
    word = MakeOperation(ScalarOp::kBitOr, ScalarType::kUint32, {std::move(word), moved});
  }
  return word;
}

LoopValue FlipSigns(LoopValue words) {
  return MakeOperation(ScalarOp::kBitXor, ScalarType::kUint32,
                       {std::move(words), Word(kSignsOfBytes)});
}

LoopValue FlippedZeros(int lanes) { return MakeSplat(Word(kSignsOfBytes), lanes); }

}  // namespace mdh
