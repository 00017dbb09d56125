#include "server/devices/trial_places.h"

#include <utility>

#include "core/expression/canonical.h"
#include "tuner/run/trial_history.h"

namespace mdh {

std::string KernelDigest(const std::string& identity) { return Sha256Hex(identity).substr(0, 32); }

std::string KernelDigest(const Kernel& kernel) { return KernelDigest(IdentityOf(kernel)); }

void TrialPlaces::Note(const std::string& digest, const std::string& device) {
  absl::MutexLock lock(&mutex_);
  devices_[digest] = device;
}

std::string TrialPlaces::Take(const std::string& digest) {
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(digest);
  if (found == devices_.end()) return "";
  std::string device = std::move(found->second);
  devices_.erase(found);
  return device;
}

}  // namespace mdh
