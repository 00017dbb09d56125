// How many elements and bytes of its buffers a computation touches (paper, Definitions 8 and 10:
// the images of index functions).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/expression/expression.h"
#include "core/expression/progression.h"

namespace mdh {

// Different elements of the buffer's memory that these of its accesses read or write on the whole
// MDA, whatever is outside of the buffer left out. Exact where every index of the buffer follows
// dimensions of its own, whose sums are progressions or nested ones (rows, columns, strides,
// stencils, interiors, clamped borders of unit stride, blocks), for unions of such accesses, and
// for single accesses that are so only in memory (diagonals, rows of a layout with stride 0); else
// bounds. `upper` is at most the elements of the buffer's index space and of its memory.
CountBounds TouchedElements(const Buffer& buffer, absl::Span<const int> accesses,
                            const std::vector<Dimension>& dimensions);

// Bytes of the elements of passed input b that f and the store function need: of records, those of
// the fields that they read, without padding. `upper` counts every access whose value is used.
// `lower` is what no right kernel can do without: it leaves out what is used only as an operand of
// a selection that may not be taken, and everything where the combine operator may ignore an
// operand.
CountBounds InputBytes(const Expression& expression, int b);

// Bytes of output b. `lower`: of the elements that accesses write; `upper`: of all elements, for
// those that no access reaches are set to zero. Gaps of a layout with strides do not count, the
// padding of records does.
CountBounds OutputBytes(const Expression& expression, int b);

// All inputs and outputs together.
CountBounds TouchedBytes(const Expression& expression);

// All of their memory, touched or not.
int64_t BufferBytesOf(const Expression& expression);

// Bytes of the lines of `line_bytes` in which these elements lie: what moves where memory moves
// whole lines, as a column of a matrix fills one for each of its numbers. An upper bound: accesses
// are counted one by one, and a buffer may begin within a line; at most the bytes of all buffers.
int64_t TouchedLineBytes(const Expression& expression, int64_t line_bytes);

}  // namespace mdh
