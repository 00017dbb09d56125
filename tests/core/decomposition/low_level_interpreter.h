// Executes a low-level expression literally (paper, Sections 3.1 and 3.4, appendix C.3): slow, and
// obvious against Figure 19; what the interpreter of expressions is to md_hom.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/decomposition/low_level_expression.h"
#include "core/expression/interpreter.h"

namespace mdh {

// 1. De-composition: partitions the input MDA level by level in the order D1 into low-level MDAs
//    (Definition 12), copying the parts of input buffers into low-level buffers (Definition 13)
//    wherever region or layout change (D3, D4).
// 2. Scalar: applies f to every singleton in the order S1, reading from and writing to S3-S6.
// 3. Re-composition: combines the parts level by level in the order R1 with the operators of the
//    dimensions, in low-level buffers of R3 and R4.
// Combined values are fp64 instead of narrower floating-point types if `accumulation` is kWide.
// Bytes of output buffers that no index function reaches are zero. Memory grows with the number of
// points: meant for up to some 100,000 of them.
// Errors: InvalidArgument if the number or size of the inputs is wrong.
Result<std::vector<BufferBytes>> InterpretLowLevel(const LowLevelExpression& low_level,
                                                   absl::Span<const BufferBytes> inputs,
                                                   Accumulation accumulation = Accumulation::kWide);

}  // namespace mdh
