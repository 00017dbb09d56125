// What `mdh check` says about a pipeline, and what its kernel is made of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/pipeline/pipeline.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

// Several lines: buffers with their roles, steps with what they read and write, work and least
// traffic, bytes of temporaries, what fusion would save, digest.
std::string ExplainAsText(const Pipeline& pipeline);

// The same for programs. Sizes and counts are numbers.
nlohmann::ordered_json ExplainAsJson(const Pipeline& pipeline);

// Several lines: the partition, the time of each step and where its parameters come from, the time
// of the best unfused pipeline beside it.
std::string FormatPipelineKernel(const std::string& name, const v1::PipelineKernel& kernel);

// One line of it: "measured, 1.23 ms", "from rules".
std::string OriginOfStep(const v1::PipelineKernelStep& step);

}  // namespace mdh
