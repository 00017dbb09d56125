// Operands of matrix units as tensor copy engines see them (CUDA's TMA, compute capability 9.0): an
// array of up to five dimensions, of which a copy brings a box to shared memory, in swizzled rows
// of 128 bytes as threads would. Points of the box beyond the array become zeros.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/decomposition/unit_plan.h"

namespace mdh {

inline constexpr int kMostTensorDimensions = 5;
inline constexpr int64_t kMostBoxPoints = 256;  // along a dimension

// One dimension of the array, along a composite of those of the expression.
struct TensorDimension {
  enum class Along : uint8_t { kK, kOwn, kBatch };  // own: m of A, n of B
  Along along;
  int64_t points;
  int64_t stride;  // elements
  // The coordinate of a point is composite / inner, modulo `points` but for the outermost dimension
  // of a composite, along which boxes may reach beyond the last point.
  int64_t inner;
  bool is_outermost;
};

struct UnitTensor {
  int64_t offset;                           // of the first element, in elements
  std::vector<TensorDimension> dimensions;  // the first one contiguous
  // Of one copy: elements of a row, and rows. A stage is several copies one behind the other: of
  // rows along k so many rows each, else 128 bytes of m or n for all points of a stage along k.
  // They are as many for each block that has the stage in common with others; or all for each, of
  // its part of the points along k.
  int64_t row, rows;
  bool is_shared_along_k = false;
};

// Of an operand that is cut (CutForUnit), with the points of the tile along m or n, of which each
// block that has them in common copies as many; in memory or where it is packed. Errors:
// InvalidArgument, saying what keeps the engine from copying it.
Result<UnitTensor> TensorOfUnit(const Expression& expression, const UnitPlan& plan,
                                const UnitParameters& unit, bool is_a);

// Why the operands that the parameters name cannot be copied so; empty: they can.
std::string TensorObstacle(const Expression& expression, const UnitParameters& unit,
                           const UnitPlan& plan);

}  // namespace mdh
