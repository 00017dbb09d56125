// Results of tuning as they are stored and sent.
#pragma once

#include <cstdint>

#include "codegen/program/kernel.h"
#include "core/expression/expression.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

// The record of a result on `device` under `key`; its name is derived from the key. Peaks, search
// options and the time of creation are left to the caller.
v1::TuningRecord MakeRecord(const Expression& expression, const v1::KernelKey& key,
                            const DeviceDescription& device, const TuningResult& result);

// `device`: of the measurement, or what the kernel is for.
v1::Kernel MakeKernel(const v1::KernelKey& key, const Kernel& kernel,
                      const DeviceDescription& device);

// All of it together, in bytes.
int64_t LargestCache(const DeviceDescription& device);

}  // namespace mdh
