// Parameters of pipelines whose steps run together, part after part: where a search starts.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/numerics.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/schedule/pipeline_parameters.h"

namespace mdh {

// Groups of steps that counting takes for worth a trial, ascending and disjoint: those that keep
// the most bytes out of memory, with parts whose temporaries stay in the cache of a core or in the
// shared memory of a block, and of which there are enough for all of the device; on targets with
// blocks in rows, where parts can be rows. Others stream where that is worth it
// (codegen/choose/stream_shape.h), which policies other than kReassociate forbid. Perhaps
// none.
std::vector<JointGroup> DefaultJointGroups(const Pipeline& pipeline,
                                           const DeviceDescription& device,
                                           NumericsPolicy numerics = NumericsPolicy::kReassociate);

// The group with parts as counting has them.
JointGroup WithPartByCounting(const Pipeline& pipeline, JointGroup group,
                              const DeviceDescription& device);

// DefaultParameters of every step; of those in groups on a part, for the threads that compute one.
// Errors: those of PartOf (core/pipeline/plan/joint_part.h).
Result<std::vector<TuningParameters>> DefaultParameters(
    const Pipeline& pipeline, absl::Span<const JointGroup> groups, const SystemModel& model,
    const DeviceDescription& device, NumericsPolicy numerics = NumericsPolicy::kReassociate);

// How rules compute the parts of groups: by so many threads of a block at most; `aligns`: of groups
// that can be so, each thread has the same points in all steps
// (codegen/choose/aligned_parts.h), with so many threads of a row, 0: as many as load least.
struct PartThreads {
  int64_t threads = 1;
  bool aligns = false;
  int64_t lanes = 0;
};

// DefaultParameters of every step, with parts computed so. Errors: those of PartOf;
// FailedPrecondition: no group can be aligned so.
Result<std::vector<TuningParameters>> ParametersOfSteps(
    const Pipeline& pipeline, absl::Span<const JointGroup> groups, const SystemModel& model,
    const DeviceDescription& device, NumericsPolicy numerics, const PartThreads& how);

// Joint groups of a partition's steps with parameters for all of its steps, the likeliest first:
// at most `most`, all different: where threads form blocks and parts can be rows, two thirds of
// them with layouts of rows (codegen/row_layouts.h), and where they can stream with other chunks,
// which policies other than kReassociate forbid; then with other parts and, where threads form
// blocks, with other numbers of threads. Empty: no steps can run together. Code can be generated
// for all of them (GeneratePipelineKernel of codegen/generate_pipeline.h).
std::vector<PipelineParameters> JointCandidates(
    const Partition& partition, const SystemModel& model, const DeviceDescription& device,
    NumericsPolicy numerics = NumericsPolicy::kReassociate, size_t most = 12);

}  // namespace mdh
