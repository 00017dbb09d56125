// Bundles as the service sends and takes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/record.pb.h"
#include "server/store/store.h"

namespace mdh {

// Of the format that is written (proto/bundle_layout.h); the one before, a stream of records
// (v1::BundleHeader), is read, too.
inline constexpr int kBundleVersion = 2;
// Larger bundles are refused.
inline constexpr int64_t kMaxBundleBytes = int64_t{256} << 20;

// The bytes of a bundle. `header`: without version and number of records. A kernel without a name
// is left out: then there is the record alone.
std::string WriteBundle(v1::BundleHeader header, const std::vector<StoredResult>& results);

struct Bundle {
  v1::BundleHeader header;
  std::vector<v1::TuningRecord> records;
};

// The records; kernels are generated anew from them. Takes time and memory in proportion to the
// bytes. Errors: InvalidArgument if it is no bundle, is damaged or cut off, or is of a newer
// version; `reason` of its ErrorInfo is "BAD_BUNDLE".
Result<Bundle> ReadBundle(std::string_view bytes);

}  // namespace mdh
