// Words of dot instructions (core/decomposition/dot_plan.h): how they are made of elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/index.h"
#include "codegen/program/loop_program.h"
#include "core/expression/expression.h"

namespace mdh {

// The bits of elements of bf16 or of a byte as words of which they are the lowest: of those at
// `offset`, `stride` apart; and of those of a buffer with a boundary, at these indices.
LoopValue LoadBits(const std::string& pointer, const Index& offset, LoopValueType stored,
                   int64_t stride);
LoopValue LoadBitsInside(const Buffer& buffer, const std::string& pointer,
                         const std::vector<Index>& indices, const std::vector<int64_t>& lane_steps,
                         int lanes);

// Words of elements, the first of which is the lowest; at most as many as there is room for.
LoopValue JoinBits(const std::vector<LoopValue>& bits, ScalarType stored);

// Words with the signs of all bytes flipped.
LoopValue FlipSigns(LoopValue words);
// Such a word of zeros in every lane.
LoopValue FlippedZeros(int lanes);

}  // namespace mdh
