// The loop program of a pipeline: those of its steps, one after the other, over its buffers.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "codegen/backends/build_program.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/computed_pipeline.h"

namespace mdh {

struct PipelineProgram {
  KernelProgram kernel;  // arguments: inputs of the pipeline, then its outputs
  // Per step the program's identifiers for its buffers, as arguments that it would have alone.
  std::vector<std::vector<KernelArgument>> step_arguments;
};

// Expects the steps of a ComputedPipeline, lowered for the same model and device; those of the
// groups on their parts. Temporaries are scratch buffers; they and the scratch memory of a step
// exist from the first stage that uses them to the last one. A stage waits for all stages before
// it. A group is one stage, but for what its outputs have that no index function reaches. Errors:
// as those of BuildProgram, and of BuildJointStage; where they are, PlaceOfPipeline says.
Result<PipelineProgram> BuildPipelineProgram(const Pipeline& pipeline,
                                             absl::Span<const LowLevelExpression> steps,
                                             absl::Span<const JointSteps> groups,
                                             const DeviceDescription& device,
                                             ProgramForm form = ProgramForm::kOptimized);

// `status`, saying that it is about this step.
Status OfStep(const Status& status, const Pipeline& pipeline, int step);

}  // namespace mdh
