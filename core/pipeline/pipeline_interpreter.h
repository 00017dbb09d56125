// The reference interpreter of pipelines: step after step by the interpreter of expressions. Every
// kernel of a pipeline, fused or not, is judged by it.
#pragma once

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/interpreter.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// What lies between the steps.
enum class Intermediates {
  kRounded,  // values of the temporaries' types: what the pipeline means
  // Every floating-point value between inputs and outputs in fp64, those in scalar functions too:
  // as if nothing were rounded before it is an output.
  kWide,
};

// The outputs, in the order of their buffers; `inputs` likewise. Errors: InvalidArgument if the
// number or size of the inputs is wrong.
Result<std::vector<BufferBytes>> InterpretPipeline(
    const Pipeline& pipeline, absl::Span<const BufferBytes> inputs,
    Intermediates intermediates = Intermediates::kRounded,
    Accumulation accumulation = Accumulation::kWide);

// The outputs of an expression, whatever computes them.
using RunStep = std::function<Result<std::vector<BufferBytes>>(
    const Expression& step, absl::Span<const BufferBytes> inputs)>;

// The same by `run`: with wide intermediates it gets expressions in which all that is
// floating-point is in fp64, and such inputs. Errors: also those of `run`.
Result<std::vector<BufferBytes>> RunPipeline(const Pipeline& pipeline,
                                             absl::Span<const BufferBytes> inputs,
                                             Intermediates intermediates, const RunStep& run);

// What kWide makes of a step and of the types of buffers: everything floating-point in fp64.
Expression WideStep(const Expression& expression);
ElementType WideType(const ElementType& type);
// One element in another type with the same fields.
void ConvertElement(const std::byte* from, const ElementType& from_type, const ElementType& to_type,
                    std::byte* to);

// Whether anything in it is floating-point and narrower than fp64: else both runs are the same.
bool HasNarrowReals(const Pipeline& pipeline);

// Whether a kernel's value is right: a kernel may keep more of a temporary than its type holds, as
// a fused one does in registers, but never less. `rounded` and `wide` are the values of the two
// runs of InterpretPipeline; where rounding temporaries changes the result, it may change it:
//   |got - wide| <= tolerance + 4 |wide - rounded|
// `tolerance` is that of kernels of single expressions. Values that are not finite are right if
// they are those of one of the runs.
bool IsRightValue(double got, double rounded, double wide, double tolerance);

}  // namespace mdh
