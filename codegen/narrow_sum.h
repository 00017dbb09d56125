// Sums of short integers in a wider type, by instructions that add neighbours up while they become
// longer (paper, scalar phase, layer SIMD).
#pragma once

#include <optional>

#include "core/expression.h"
#include "core/scalar_function.h"

namespace mdh {

// What is added up at every point of a reduction, in the shortest types: one integer of at most 16
// bits, or the product of two, of 8 bits both or both int16. Its sum in the result's type, which
// has 32 or 64 bits, is that of f.
struct NarrowSum {
  ScalarFunction operands;  // of f's parameters; one or two results
  int operand_bytes;        // 1 or 2
  int widest_bytes;         // of what operands computes with
  ScalarType result;
  // In which AddProducts adds: the result's type, or int32, which holds the sum of any
  // kMaxUnrolledOperations vectors.
  ScalarType sum;

  bool has_product() const { return operands.results().size() == 2; }
  // Of an accumulator, for vectors of so many lanes: as many bytes.
  int AccumulatorLanes(int lanes) const { return lanes * operand_bytes / SizeBytes(result); }
};

// Nullopt if f's result is not such a value, or is not reduced by additions alone.
std::optional<NarrowSum> NarrowSumOf(const Expression& expression);

// Whether vectors of so many lanes along dimension d, -1 for none, are added up like that: at least
// 16 bytes.
bool AddsNarrowVectors(const std::optional<NarrowSum>& narrow, const Expression& expression, int d,
                       int64_t lanes);

}  // namespace mdh
