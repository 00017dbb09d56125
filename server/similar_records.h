// Which records a search can start from: those of the same computation in other sizes, or on other
// devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mdh/v1/record.pb.h"

namespace mdh {

// A canonical form (core/canonical.h) taken apart.
struct ExpressionShape {
  std::string structure;       // without sizes, extents and strides
  std::vector<int64_t> sizes;  // of the dimensions

  // nullopt if the text is no canonical form.
  static std::optional<ExpressionShape> Of(const std::string& canonical_form);
};

// What a record is for.
struct RecordPurpose {
  const ExpressionShape& shape;
  const v1::KernelKey& key;
  const v1::DeviceDescription& device;  // without a kind: not known
};

// How far a record made for `known` is from a search for `wanted`: doublings or halvings of sizes,
// summed over the dimensions, and more for another device. nullopt for another computation, or
// another kind of device.
std::optional<double> Distance(const RecordPurpose& wanted, const RecordPurpose& known);

// The same from a search for `key` on `device` to a record.
std::optional<double> DistanceTo(const v1::TuningRecord& record, const v1::KernelKey& key,
                                 const v1::DeviceDescription& device);

// How far two devices are from each other, as far as doublings of sizes; nullopt for other kinds.
std::optional<double> DeviceDistance(const v1::DeviceDescription& a,
                                     const v1::DeviceDescription& b);

}  // namespace mdh
