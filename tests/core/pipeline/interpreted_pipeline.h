// The judge of pipelines: step after step by the interpreter of expressions. Every kernel of a
// pipeline, fused or not, is judged by it.
#pragma once

#include <cmath>
#include <vector>

#include "core/pipeline/pipeline_interpreter.h"

namespace mdh {

// The outputs, in the order of their buffers; `inputs` likewise. Errors: InvalidArgument if the
// number or size of the inputs is wrong.
inline Result<std::vector<BufferBytes>> InterpretPipeline(
    const Pipeline& pipeline, absl::Span<const BufferBytes> inputs,
    Intermediates intermediates = Intermediates::kRounded,
    Accumulation accumulation = Accumulation::kWide) {
  return RunPipeline(pipeline, inputs, intermediates,
                     [&](const Expression& step, absl::Span<const BufferBytes> given) {
                       return Interpret(step, given, accumulation);
                     });
}

// Whether a kernel's value is right: a kernel may keep more of a temporary than its type holds, as
// a fused one does in registers, but never less. `rounded` and `wide` are the values of the two
// runs of InterpretPipeline; where rounding temporaries changes the result, it may change it:
//   |got - wide| <= tolerance + 4 |wide - rounded|
// `tolerance` is that of kernels of single expressions. Values that are not finite are right if
// they are those of one of the runs.
inline bool IsRightValue(double got, double rounded, double wide, double tolerance) {
  const auto is_same = [](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
  };
  if (is_same(got, rounded) || is_same(got, wide)) return true;
  return std::abs(got - wide) <= tolerance + 4 * std::abs(wide - rounded);
}

}  // namespace mdh
