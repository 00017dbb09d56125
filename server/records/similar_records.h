// Which records a search can start from: those of the same computation in other sizes, or on other
// devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

// A canonical form (core/expression/canonical.h) taken apart.
struct ExpressionShape {
  std::string structure;       // without sizes, extents and strides
  std::vector<int64_t> sizes;  // of the dimensions

  // nullopt if the text is no canonical form.
  static std::optional<ExpressionShape> Of(std::string_view canonical_form);
};

// How far sizes are from each other: doublings or halvings, summed over the dimensions, which are
// as many.
double SizeDistance(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

// A device of a key; a description without a kind is not known.
struct DeviceOfKey {
  const std::string& fingerprint;
  const v1::DeviceDescription& description;
};
// How far two devices are from each other, as far as doublings of sizes; nullopt for other kinds.
// One GPU under CUDA and under OpenCL is two devices of one kind.
std::optional<double> DeviceDistance(const DeviceOfKey& wanted, const DeviceOfKey& known);

// How far a record is from a search for `key` on `device`: the distances of sizes and of devices.
// nullopt for another computation, or another kind of device.
std::optional<double> DistanceTo(const v1::TuningRecord& record, const v1::KernelKey& key,
                                 const v1::DeviceDescription& device);

// The record's parameters for `device`: as they are, or translated from CUDA to OpenCL or back
// (server/records/translate_parameters.h). Errors: InvalidArgument if they cannot be read,
// FailedPrecondition if they are for another kind of device.
Result<TuningParameters> ParametersFor(const DeviceDescription& device,
                                       const v1::TuningRecord& record);

}  // namespace mdh
