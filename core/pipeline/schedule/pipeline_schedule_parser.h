// Reads the text of a schedule of a pipeline.
#pragma once

#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/base/status.h"
#include "core/pipeline/schedule/pipeline_decision.h"

namespace mdh {

struct ParsedPipelineSchedule {
  std::vector<PipelineDecision> decisions;
  std::vector<StepSection> sections;
  std::vector<std::pair<size_t, size_t>> model_lines;  // "for MODEL:", which sections have, too
};

// `model`: below `for MODEL:` of others, lines are not read. Errors: InvalidArgument at the place:
// what cannot be read; steps and edges that there are not.
Result<ParsedPipelineSchedule> ParsePipelineSchedule(const Source& source, const StepNames& names,
                                                     const std::string& model);

}  // namespace mdh
