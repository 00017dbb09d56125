// Records that a site ships, below those of a daemon: bundles as read-only layers of a store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/trusted_path.h"
#include "server/store/store.h"

namespace mdh {

// `store` on top of the bundles at `paths`, of which the first comes first. What `store` has for a
// key hides what they have for it, as an overlay of file systems does. A call that changes a record
// which only a bundle has, or stores another one for its key, takes it over into `store` before;
// what is removed there shows the bundle's again, and a bundle's cannot be removed
// (FailedPrecondition, naming the bundle). Counts, backups and checks are those of `store` alone.
// The bundles are mapped: put a new file in the place of an old one, and restart.
// Errors: those of BundleFile::Open; InvalidArgument, naming the bundle, if it has records that
// cannot be read, or has them without kernels.
Result<std::unique_ptr<Store>> OpenLayeredStore(std::unique_ptr<Store> store,
                                                const std::vector<std::string>& paths,
                                                const TrustedUsers& trusted = {});

}  // namespace mdh
