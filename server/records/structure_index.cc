#include "server/records/structure_index.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "server/records/similar_records.h"

namespace mdh {
namespace {

// Distances of the devices of records from one device: many records share few devices.
class DeviceDistances {
 public:
  DeviceDistances(const std::string& wanted, const v1::DeviceDescription& device)
      : wanted_(wanted), device_(device) {}

  std::optional<double> Of(const SerializedRecordPtr& record) {
    const std::string_view fingerprint = record->key().device_fingerprint;
    if (fingerprint == wanted_) return 0;
    const auto [place, is_new] = known_.try_emplace(fingerprint);
    if (is_new) {
      place->second =
          DeviceDistance({wanted_, device_}, {std::string(fingerprint), record->Parse().device()});
      kept_.push_back(record);
    }
    return place->second;
  }

 private:
  const std::string& wanted_;
  const v1::DeviceDescription& device_;
  std::vector<SerializedRecordPtr> kept_;  // whose fingerprints these are
  absl::flat_hash_map<std::string_view, std::optional<double>> known_;
};

// Two structures may share a hash.
bool HasStructure(const SerializedRecord& record, const std::string& structure) {
  const auto shape = ExpressionShape::Of(record.key().canonical_form);
  return shape && shape->structure == structure;
}

}  // namespace

StructureIndex::Part& StructureIndex::PartOf(const SerializedRecordPtr& record) {
  // The highest bits of the hash: the sets in a part use the others.
  return parts_[absl::Hash<SerializedRecordPtr>()(record) >> (8 * sizeof(size_t) - kPartBits)];
}

void StructureIndex::Add(const SerializedRecordPtr& record) {
  if (record->structure() == 0) return;
  Part& part = PartOf(record);
  {
    const std::string_view device = record->key().device_fingerprint;
    absl::MutexLock lock(&part.counts_mutex);
    CountByDevice& devices = part.counts[record->structure()];
    // Mostly it is there, and needs no string.
    const auto count = devices.find(absl::string_view(device.data(), device.size()));
    if (count != devices.end()) {
      ++count->second;
    } else {
      devices[std::string(device)] = 1;
    }
  }
  absl::MutexLock lock(&part.records_mutex);
  part.records[record->structure()].insert(record);
}

void StructureIndex::Remove(const SerializedRecordPtr& record) {
  if (record->structure() == 0) return;
  Part& part = PartOf(record);
  {
    absl::MutexLock lock(&part.counts_mutex);
    const auto devices = part.counts.find(record->structure());
    const auto count = devices->second.find(std::string(record->key().device_fingerprint));
    if (--count->second == 0) devices->second.erase(count);
    if (devices->second.empty()) part.counts.erase(devices);
  }
  absl::MutexLock lock(&part.records_mutex);
  const auto alike = part.records.find(record->structure());
  alike->second.erase(record);
  if (alike->second.empty()) part.records.erase(alike);
}

v1::MissReason StructureIndex::WhyUnknown(const KernelKeyView& asked) const {
  const auto shape = ExpressionShape::Of(asked.canonical_form);
  if (!shape) return v1::MISS_REASON_UNKNOWN_COMPUTATION;
  const uint64_t structure = HashOfStructure(shape->structure);
  const std::string device(asked.device_fingerprint);
  v1::MissReason reason = v1::MISS_REASON_UNKNOWN_COMPUTATION;
  for (const Part& part : parts_) {
    absl::ReaderMutexLock lock(&part.counts_mutex);
    const auto devices = part.counts.find(structure);
    if (devices == part.counts.end()) continue;
    if (devices->second.contains(device)) return v1::MISS_REASON_OTHER_SIZES;
    reason = v1::MISS_REASON_OTHER_DEVICE;
  }
  return reason;
}

std::vector<SerializedRecordPtr> StructureIndex::FindNearest(const v1::KernelKey& key, size_t limit,
                                                             const v1::DeviceDescription& device,
                                                             Devices devices) const {
  const std::optional<ExpressionShape> wanted = ExpressionShape::Of(key.canonical_form());
  if (!wanted) return {};
  const uint64_t structure = HashOfStructure(wanted->structure);
  DeviceDistances of_devices(key.device_fingerprint(), device);
  std::vector<std::pair<double, SerializedRecordPtr>> similar;
  const auto consider = [&](const SerializedRecordPtr& record) {
    const KernelKeyView& known = record->key();
    // Of others the free record is at least as good.
    if (!known.schedule.empty() && known.schedule != key.schedule()) return;
    const bool is_wanted =
        devices == Devices::kAlike || (known.device_fingerprint == key.device_fingerprint() &&
                                       known.numerics_policy == key.numerics_policy());
    if (!is_wanted || record->sizes().size() != wanted->sizes.size()) return;
    const std::optional<double> distance = of_devices.Of(record);
    if (!distance) return;
    similar.emplace_back(*distance + SizeDistance(wanted->sizes, record->sizes()), record);
  };
  for (const Part& part : parts_) {
    absl::ReaderMutexLock lock(&part.records_mutex);
    const auto alike = part.records.find(structure);
    if (alike != part.records.end()) {
      std::for_each(alike->second.begin(), alike->second.end(), consider);
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
