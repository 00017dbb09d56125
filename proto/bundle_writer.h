// Writes bundles (the format: bundle_layout.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/bundle_query.h"

namespace mdh {

// One entry to be.
struct BundleItem {
  // With compiler and generator version.
  BundleQuery key;
  std::string record;  // a serialised v1::TuningRecord
  std::string kernel;  // a serialised v1::Kernel; empty: none
};

// The bytes of a bundle. `info`: a serialised v1::BundleHeader. The same for the same items in any
// order, if their keys differ. Each part of an item must be smaller than 4 GiB.
std::string WriteBundleFile(std::string_view info, std::vector<BundleItem> items);

}  // namespace mdh
