// The kernel of a pipeline that was not measured as a whole, made from what is known of its steps.
#pragma once

#include <functional>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/pipeline/pipeline.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

struct WantedPipeline {
  const Pipeline& pipeline;
  const DeviceDescription& device;
  v1::NumericsPolicy numerics;
  v1::MatchKind weakest;
};

// The best that is known of a step on the device, as KernelService.LookupKernel says. Errors:
// NotFound if nothing is as good as `weakest`.
using FindStep =
    std::function<Result<v1::LookupKernelResponse>(const Expression& step, v1::MatchKind weakest)>;

// Of the partitions whose steps all have records, that with the least sum of their times. If there
// is none: where PREDICTED is accepted the one that rules take, whose steps may run together
// (codegen/pipeline_defaults.h), and where NEAREST is the cheapest by the plan. Errors: NotFound,
// naming the steps without records; what the generator says.
Result<v1::LookupKernelResponse> BestOfPipeline(const WantedPipeline& wanted, const FindStep& find);

}  // namespace mdh
