// The text form of a pipeline's parameters, one line each:
//
//   edge 1 2 epilogue                                   steps count from 1; also stage, inline
//   group 1 2 part 4,64 dimensions 0,1|0,1              common dimensions per step of the group
//   group 1 2 part 4 dimensions 0|0 streamed 1,- chunk 64 splits 2     per step, "-": behind chunks
//   step system_model=...; ...                          as tuning parameters
//
// Edges are those of the pipeline that is planned, groups and steps those of its partition.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/pipeline/schedule/pipeline_parameters.h"

namespace mdh {

// ParsePipelineParameters of the result gives the same parameters.
std::string ToText(const PipelineParameters& parameters);

// "256,1,4 registers" as in that text: threads of a row, rows of a block, elements of a vector, and
// where rows are kept. nullopt: it is no such text.
std::optional<RowLayout> ParseRowLayout(std::string_view text);

// Errors: InvalidArgument, beginning with "line N: ".
Result<PipelineParameters> ParsePipelineParameters(std::string_view text);

}  // namespace mdh
