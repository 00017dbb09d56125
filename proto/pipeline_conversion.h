// Pipelines between the wire and core, with the limits on what a client may send.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "core/pipeline/pipeline.h"
#include "mdh/v1/pipeline.pb.h"
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

  // For pipelines of the user's own: only the limits of core.
  static PipelineLimits None();
};

// Takes time and memory in proportion to the size of the message, but for the checks of
// Expression::Create, which have bounds of their own. Errors: InvalidArgument or OutOfRange; the
// message names what is wrong. ResourceExhausted if the buffers are larger than the limit.
Result<Pipeline> FromProto(const v1::PipelineSource& source, const PipelineLimits& limits);
Result<Pipeline> FromProto(const v1::Pipeline& pipeline, const PipelineLimits& limits);

// With all types and extents. FromProto of the result gives the same pipeline.
v1::Pipeline ToProto(const Pipeline& pipeline);

}  // namespace mdh
