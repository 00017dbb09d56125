// What ldmatrix and stmatrix move between registers and shared memory of NVIDIA's GPUs, by digits.
#pragma once

#include <optional>

#include "core/base/status.h"
#include "core/device/matrix_layout.h"

namespace mdh {

// A fragment moved to or from shared memory by 16-byte rows, `matrices` (1, 2, 4) of 8 rows at a
// time, each one register of the fragment.
struct MatrixMove {
  int matrices;
  int moves;  // instructions for the whole fragment: register number q * matrices + i of move q
  bool transposed;  // .trans
  // The first element of the row that a lane points to, in move number `reg`. (Of one and two
  // matrices only lanes below 8 and 16 of each warp count; others point to the same rows again.)
  FragmentLayout rows;
};

// The move for a fragment of elements of so many bytes, whose memory is contiguous along `axis`:
// an operand, or results packed to 32-bit registers. nullopt: there is
// none, and lanes access elements one by one.
std::optional<MatrixMove> MoveOf(const FragmentLayout& fragment, int element_bytes,
                                 MatrixAxis axis);

}  // namespace mdh
