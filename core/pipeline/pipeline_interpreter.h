// Pipelines, step after step, whatever computes an expression; and all of it in fp64.
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

// The outputs of an expression, whatever computes them.
using RunStep = std::function<Result<std::vector<BufferBytes>>(
    const Expression& step, absl::Span<const BufferBytes> inputs)>;

// The outputs of the pipeline by `run`, in the order of their buffers; `inputs` likewise. With wide
// intermediates `run` gets expressions in which all that is floating-point is in fp64, and such
// inputs. Errors: those of `run`; InvalidArgument if the number or size of the inputs is wrong.
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

}  // namespace mdh
