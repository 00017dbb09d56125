#include "server/records/structure_index.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/records/similar_records.h"

namespace mdh {
namespace {

// Distances of the devices of records from one device: many records share few devices.
class DeviceDistances {
 public:
  DeviceDistances(const std::string& wanted, const v1::DeviceDescription& device)
      : wanted_(wanted), device_(device) {}

  std::optional<double> Of(const SerializedRecord& record) {
    const std::string_view fingerprint = record.key().device_fingerprint;
    if (fingerprint == wanted_) return 0;
    const auto [place, is_new] = known_.try_emplace(fingerprint);
    if (is_new) {
      place->second =
          DeviceDistance({wanted_, device_}, {std::string(fingerprint), record.Parse().device()});
    }
    return place->second;
  }

 private:
  const std::string& wanted_;
  const v1::DeviceDescription& device_;
  absl::flat_hash_map<std::string_view, std::optional<double>> known_;
};

// Two structures may share a hash.
bool HasStructure(const SerializedRecord& record, const std::string& structure) {
  const auto shape = ExpressionShape::Of(record.key().canonical_form);
  return shape && shape->structure == structure;
}

}  // namespace

void StructureIndex::Add(const SerializedRecordPtr& record) {
  if (record->structure() == 0) return;
  {
    const std::string_view device = record->key().device_fingerprint;
    absl::MutexLock lock(&counts_mutex_);
    CountByDevice& devices = counts_[record->structure()];
    // Mostly it is there, and needs no string.
    const auto count = devices.find(absl::string_view(device.data(), device.size()));
    if (count != devices.end()) {
      ++count->second;
    } else {
      devices[std::string(device)] = 1;
    }
  }
  absl::MutexLock lock(&records_mutex_);
  records_[record->structure()].insert(record);
}

void StructureIndex::Remove(const SerializedRecordPtr& record) {
  if (record->structure() == 0) return;
  {
    absl::MutexLock lock(&counts_mutex_);
    const auto devices = counts_.find(record->structure());
    const auto count = devices->second.find(std::string(record->key().device_fingerprint));
    if (--count->second == 0) devices->second.erase(count);
    if (devices->second.empty()) counts_.erase(devices);
  }
  absl::MutexLock lock(&records_mutex_);
  const auto alike = records_.find(record->structure());
  alike->second.erase(record);
  if (alike->second.empty()) records_.erase(alike);
}

v1::MissReason StructureIndex::WhyUnknown(const KernelKeyView& asked) const {
  const auto shape = ExpressionShape::Of(asked.canonical_form);
  if (!shape) return v1::MISS_REASON_UNKNOWN_COMPUTATION;
  absl::ReaderMutexLock lock(&counts_mutex_);
  const auto devices = counts_.find(HashOfStructure(shape->structure));
  if (devices == counts_.end()) return v1::MISS_REASON_UNKNOWN_COMPUTATION;
  return devices->second.contains(std::string(asked.device_fingerprint))
             ? v1::MISS_REASON_OTHER_SIZES
             : v1::MISS_REASON_OTHER_DEVICE;
}

std::vector<SerializedRecordPtr> StructureIndex::FindNearest(const v1::KernelKey& key, size_t limit,
                                                             const v1::DeviceDescription& device,
                                                             Devices devices) const {
  const std::optional<ExpressionShape> wanted = ExpressionShape::Of(key.canonical_form());
  if (!wanted) return {};
  DeviceDistances of_devices(key.device_fingerprint(), device);
  std::vector<std::pair<double, SerializedRecordPtr>> similar;
  {
    absl::ReaderMutexLock lock(&records_mutex_);
    const auto alike = records_.find(HashOfStructure(wanted->structure));
    if (alike == records_.end()) return {};
    for (const SerializedRecordPtr& record : alike->second) {
      const KernelKeyView& known = record->key();
      // Of others the free record is at least as good.
      if (!known.schedule.empty() && known.schedule != key.schedule()) continue;
      const bool is_wanted =
          devices == Devices::kAlike || (known.device_fingerprint == key.device_fingerprint() &&
                                         known.numerics_policy == key.numerics_policy());
      if (!is_wanted || record->sizes().size() != wanted->sizes.size()) continue;
      const std::optional<double> distance = of_devices.Of(*record);
      if (!distance) continue;
      similar.emplace_back(*distance + SizeDistance(wanted->sizes, record->sizes()), record);
    }
  }
  // Names break ties, so that a search does not depend on the order of a hash table.
  std::sort(similar.begin(), similar.end(), [](const auto& a, const auto& b) {
    return std::forward_as_tuple(a.first, a.second->name()) <
           std::forward_as_tuple(b.first, b.second->name());
  });
  std::vector<SerializedRecordPtr> nearest;
  for (const auto& candidate : similar) {
    if (nearest.size() == limit) break;
    if (HasStructure(*candidate.second, wanted->structure)) nearest.push_back(candidate.second);
  }
  return nearest;
}

}  // namespace mdh
