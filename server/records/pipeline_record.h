// Records of pipelines whose kernels were measured as a whole.
#pragma once

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/pipeline/pipeline.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "server/records/kernel_prediction.h"
#include "tuner/run/pipeline_turns.h"

namespace mdh {

// What is known of a pipeline without measuring it; the name is derived from the key.
v1::TuningRecord MakePipelineRecord(const Pipeline& pipeline, const v1::KernelKey& key,
                                    const DeviceDescription& device);

// With the best that was measured, and the others. As MakeRecord.
v1::TuningRecord MakePipelineRecord(const Pipeline& pipeline, const v1::KernelKey& key,
                                    const DeviceDescription& device, const PipelineTurns& turns);

// With exactly these parameters, as text. Errors: InvalidArgument if they are none, or not for the
// pipeline on the device; what the generator says.
Result<PredictedKernel> PipelineKernelWithParameters(const Pipeline& pipeline,
                                                     const DeviceDescription& device,
                                                     const v1::KernelKey& key,
                                                     const std::string& parameters);

// What the kernel of such a record is made of. Errors: as ParsePipelineParameters;
// FailedPrecondition if it is no record of a pipeline.
Result<v1::PipelineKernel> ExplainPipelineRecord(const v1::TuningRecord& record);

}  // namespace mdh
