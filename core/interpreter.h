// The reference interpreter: the definition of md_hom executed point by point (paper, Definition
// 4). Slow and obvious; every generated kernel is judged by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/expression.h"
#include "core/status.h"

namespace mdh {

// One buffer's bytes, row-major, size_bytes() of them.
using BufferBytes = std::vector<std::byte>;

// Computes all outputs. Points are combined in lexicographic order of the MDA indices. Elements of
// output buffers that no index function reaches are zero bytes.
// Errors: InvalidArgument if the number or size of the inputs is wrong.
Result<std::vector<BufferBytes>> Interpret(const Expression& expression,
                                           absl::Span<const BufferBytes> inputs);

// The results of f combined over all reduced dimensions, at one output point: `mda_index` has one
// entry per dimension; those of reduced dimensions are ignored. `inputs`: one pointer per input
// buffer. Serves to check samples of computations that are too large to interpret.
std::vector<ScalarValue> InterpretAt(const Expression& expression,
                                     absl::Span<const std::byte* const> inputs,
                                     absl::Span<const int64_t> mda_index);

}  // namespace mdh
