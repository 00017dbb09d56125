// Pipelines between the wire and core, with the limits on what a client may send.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "core/pipeline/computation.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/plan.h"
#include "mdh/v1/expression.pb.h"
#include "proto/expression_conversion.h"

namespace mdh {

// Limits on pipelines from elsewhere, in either form; those of core hold as well.
struct PipelineLimits {
  ExpressionLimits step;  // on the expression of every step
  int64_t text_bytes = 262'144;
  int64_t steps = 32;
  int64_t edges = 128;  // inputs of all steps
  // Of all buffers together, temporaries too.
  int64_t buffer_bytes = int64_t{4} << 30;

  // With these on each step and on the bytes of all buffers.
  static PipelineLimits Of(const ExpressionLimits& limits);
  // For pipelines of the user's own: only the limits of core.
  static PipelineLimits None();
};

// Errors: as those of FromProto.
Result<Computation> ReadComputation(const v1::ExpressionSource& source,
                                    const ExpressionLimits& limits);

// The same of a text that was printed here (ParsePrinted): a pipeline of one step stays one.
Result<Computation> ReadPrinted(const std::string& text, const ExpressionLimits& limits);

// Whether a source has, or names, a pipeline, of one step, too; at next to no cost.
bool HoldsPipeline(const v1::ExpressionSource& source);

// Takes time and memory in proportion to the size of the message, but for the checks of
// Expression::Create, which have bounds of their own. Errors: InvalidArgument or OutOfRange; the
// message names what is wrong. ResourceExhausted if the buffers are larger than the limit.
Result<Pipeline> FromProto(const v1::ExpressionSource& source, const PipelineLimits& limits);
Result<Pipeline> FromProto(const v1::Pipeline& pipeline, const PipelineLimits& limits);

// With all types and extents. FromProto of the result gives the same pipeline.
v1::Pipeline ToProto(const Pipeline& pipeline);

v1::ExpressionSource ToProto(const ComputationView& computation);

// A partition of `pipeline`.
v1::PipelinePartition ToProto(const Pipeline& pipeline, const Partition& partition);

}  // namespace mdh
