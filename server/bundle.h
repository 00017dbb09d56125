// Bundles: records in a file or stream, with a checksum (the format: v1::BundleHeader).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

// Of the format.
inline constexpr int kBundleVersion = 1;
// Larger bundles are refused.
inline constexpr int64_t kMaxBundleBytes = int64_t{256} << 20;

// The bytes of a bundle. `header`: without version and number of records.
std::string WriteBundle(v1::BundleHeader header, const std::vector<v1::TuningRecord>& records);

struct Bundle {
  v1::BundleHeader header;
  std::vector<v1::TuningRecord> records;
};

// Takes time and memory in proportion to the bytes. Errors: InvalidArgument if it is no bundle, is
// damaged or cut off, or is of a newer version; `reason` of its ErrorInfo is "BAD_BUNDLE".
Result<Bundle> ReadBundle(std::string_view bytes);

}  // namespace mdh
