// Widening additions and packed extremes: reductions of short values by instructions on vectors of
// them, in which more fit than of results (paper, scalar phase, layer SIMD): sums of integers in a
// wider type, of which neighbours are added up while they become longer, and extremes of fp16 and
// bf16, whose order is that of integers.
#pragma once

#include <optional>

#include "core/expression/expression.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// What is combined at every point of a reduction, in the shortest types. Added up: one integer of
// at most 16 bits, or the product of two, of 8 bits both or both int16; its sum in the result's
// type, which has 32 or 64 bits, is that of f. The minimum or maximum: a parameter of fp16 or bf16.
struct NarrowReduction {
  PointWiseKind kind;       // kAdd, kMin or kMax
  ScalarFunction operands;  // of f's parameters; one or two results
  int parameter = -1;       // of an extreme: the one that is the operand
  int operand_bytes;        // 1 or 2
  int widest_bytes;         // of what operands computes with
  ScalarType result;        // in registers
  // In which AddProducts adds: the result's type, or int32, which holds the sum of any
  // kMaxUnrolledOperations vectors.
  ScalarType sum;

  bool is_extreme() const { return kind != PointWiseKind::kAdd; }
  bool has_product() const { return operands.results().size() == 2; }
  // Of an accumulator, for vectors of so many lanes: as many bytes.
  int AccumulatorLanes(int lanes) const { return lanes * operand_bytes / SizeBytes(result); }
};

// Nullopt if f's result is not such a value, or is reduced otherwise.
std::optional<NarrowReduction> NarrowReductionOf(const Expression& expression);

// Whether vectors of so many lanes along dimension d, -1 for none, are reduced like that: at least
// 16 bytes.
bool ReducesNarrowVectors(const std::optional<NarrowReduction>& narrow,
                          const Expression& expression, int d, int64_t lanes);

}  // namespace mdh
