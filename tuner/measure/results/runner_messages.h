// What runners, their processes and their callers say to each other, as messages. Devices:
// proto/device_conversion.h.
#pragma once

#include "codegen/program/kernel.h"
#include "core/device/machine_peaks.h"
#include "mdh/v1/runner.pb.h"
#include "tuner/device/compiler_report.h"
#include "tuner/measure/results/measure_options.h"
#include "tuner/measure/results/measurement.h"

namespace mdh {

v1::TensorMap ToMessage(const TensorMap& map);
v1::RunnerKernel ToMessage(const Kernel& kernel);
v1::RunnerMeasureOptions ToMessage(const MeasureOptions& options);
v1::RunnerMeasured ToMessage(int64_t number, const Measurement& measurement);
v1::MachinePeaks ToMessage(const MachinePeaks& peaks);
v1::FunctionResources ToMessage(const FunctionResources& function);

// What was given to ToMessage; of kernels what is needed to compile and launch them.
TensorMap FromMessage(const v1::TensorMap& message);
Kernel FromMessage(const v1::RunnerKernel& message);
MeasureOptions FromMessage(const v1::RunnerMeasureOptions& message);
Measurement FromMessage(const v1::RunnerMeasured& message);
MachinePeaks FromMessage(const v1::MachinePeaks& message);
FunctionResources FromMessage(const v1::FunctionResources& message);

}  // namespace mdh
