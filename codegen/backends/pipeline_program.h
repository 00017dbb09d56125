// The loop program of a pipeline: those of its steps, one after the other, over its buffers.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "codegen/backends/build_program.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

struct PipelineProgram {
  KernelProgram kernel;  // arguments: inputs of the pipeline, then its outputs
  // Per step the program's identifiers for its buffers, as arguments that it would have alone.
  std::vector<std::vector<KernelArgument>> step_arguments;
};

// Expects the steps of the pipeline, lowered for the same model and device. Temporaries are scratch
// buffers; they and the scratch memory of a step exist from the first stage that uses them to the
// last one. A stage waits for all stages before it. Errors: as those of BuildProgram; where they
// are, PlaceOfPipeline says.
Result<PipelineProgram> BuildPipelineProgram(const Pipeline& pipeline,
                                             absl::Span<const LowLevelExpression> steps,
                                             const DeviceDescription& device,
                                             ProgramForm form = ProgramForm::kOptimized);

// `status`, saying that it is about this step.
Status OfStep(const Status& status, const Pipeline& pipeline, int step);

}  // namespace mdh
