// Kernels that were not measured here as they are: made from what is known of similar computations,
// or from given parameters.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

struct PredictedKernel {
  v1::TuningRecord record;  // without name and times
  v1::Kernel kernel;        // without name
  std::string made_from;    // name of a record; empty: from rules
};

// From the first of `similar` (records of the same computation for such a device, the most
// similar first) whose parameters, repaired to what the device allows, give code that the cost
// model does not expect to be much slower than that of rules, if it knows both; else from rules.
// `key`: what is asked for. Errors: what the generator says of the parameters from rules.
Result<PredictedKernel> PredictKernel(const Expression& expression, const DeviceDescription& device,
                                      const v1::KernelKey& key,
                                      const std::vector<v1::TuningRecord>& similar);

// The same without rules. Errors: NotFound if none of `similar` gives code.
Result<PredictedKernel> AdaptKernel(const Expression& expression, const DeviceDescription& device,
                                    const v1::KernelKey& key,
                                    const std::vector<v1::TuningRecord>& similar);

// With exactly these parameters. Errors: InvalidArgument or FailedPrecondition if they are not
// valid for the expression on the device; what the generator says.
Result<PredictedKernel> KernelWithParameters(const Expression& expression,
                                             const DeviceDescription& device,
                                             const v1::KernelKey& key,
                                             const TuningParameters& parameters);

}  // namespace mdh
