#include "server/store/postgres/kept_kernels.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mdh {

std::optional<v1::Kernel> KeptKernels::Find(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  v1::Kernel kernel;
  if (!kernel.ParseFromString(found->second->kernel)) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return kernel;
}

void KeptKernels::Put(std::string_view id, const v1::Kernel& kernel, int64_t change) {
  std::string bytes = kernel.SerializeAsString();
  absl::MutexLock lock(&mutex_);
  if (change < latest_) return;
  if (const auto found = by_id_.find(id); found != by_id_.end()) Erase(found->second);
  bytes_ += static_cast<int64_t>(bytes.size());
  entries_.push_front({std::string(id), std::move(bytes)});
  by_id_[entries_.front().id] = entries_.begin();
  while (bytes_ > most_bytes_) Erase(std::prev(entries_.end()));
}

void KeptKernels::Drop(std::string_view id, int64_t change) {
  absl::MutexLock lock(&mutex_);
  latest_ = std::max(latest_, change);
  if (const auto found = by_id_.find(id); found != by_id_.end()) Erase(found->second);
}

void KeptKernels::Erase(std::list<Entry>::iterator entry) {
  bytes_ -= static_cast<int64_t>(entry->kernel.size());
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

}  // namespace mdh
