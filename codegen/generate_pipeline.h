// The door to code generation for pipelines: one kernel for all steps.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/backends/build_program.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// One kernel for all steps: stages of the steps one after the other, temporaries in scratch memory;
// steps of a group in one stage, part after part, with what they write for each other in memory of
// the part (codegen/backends/joint_stage.h); of streamed groups on chunks of it. Its arguments are
// the inputs of the pipeline, then its outputs. `parameters`: one per step, of steps in groups for
// their parts (ComputedExpressions); groups are ascending and disjoint. What a source has but once
// is chosen so that it is right for every step: multiply-adds are fused and calls start early if
// all steps allow it, a call has as many threads as the step with the most, the compiler is that of
// the step with the most points. `schedule`: lines that the head of the source shows, about what is
// fused (PipelineSchedule::LinesOf). Errors: InvalidArgument if the number of parameters is wrong,
// or a group is where another one is; those of PartOf, of BuildJointStage, and of Lower and
// GenerateKernel, naming the step (PlaceOfPipeline).
Result<Kernel> GeneratePipelineKernel(const Pipeline& pipeline, const SystemModel& model,
                                      const DeviceDescription& device,
                                      absl::Span<const TuningParameters> parameters,
                                      absl::Span<const JointGroup> groups = {},
                                      const std::string& schedule = "");

// The loop program that it prints. Errors: as there.
Result<KernelProgram> PipelineProgramOf(const Pipeline& pipeline, const SystemModel& model,
                                        const DeviceDescription& device,
                                        absl::Span<const TuningParameters> parameters,
                                        ProgramForm form = ProgramForm::kOptimized,
                                        absl::Span<const JointGroup> groups = {});

// DefaultParameters of every step; each keeps to the policy as far as PolicyFor says.
std::vector<TuningParameters> DefaultParameters(
    const Pipeline& pipeline, const SystemModel& model, const DeviceDescription& device,
    NumericsPolicy numerics = NumericsPolicy::kReassociate);

}  // namespace mdh
