#include "server/lookup_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/error_details.h"

namespace mdh {
namespace {

grpc::Slice SerialisedReply(v1::MatchKind match, const v1::TuningRecord& record) {
  v1::LookupKernelResponse response;
  response.set_match(match);
  *response.mutable_record() = record;
  return grpc::Slice(response.SerializeAsString());
}

grpc::Slice CompatibleReply(const v1::KernelKey& asked, const v1::TuningRecord& record) {
  v1::LookupKernelResponse response;
  response.set_match(v1::MATCH_KIND_COMPATIBLE);
  *response.mutable_record() = record;
  for (v1::KeyDifference& difference : Differences(asked, record.key())) {
    *response.add_differences() = std::move(difference);
  }
  return grpc::Slice(response.SerializeAsString());
}

bool Accepts(v1::MatchKind weakest, v1::MatchKind match) {
  return match == v1::MATCH_KIND_EXACT || weakest >= match;
}

// "1024,1024,64"; empty if the text is no canonical form.
std::string SizesOf(const std::string& canonical_form) {
  const std::optional<ExpressionShape> shape = ExpressionShape::Of(canonical_form);
  return shape ? absl::StrJoin(shape->sizes, ",") : std::string();
}

bool SameKey(const v1::KernelKey& a, const v1::KernelKey& b) {
  return a.expression_digest() == b.expression_digest() &&
         a.canonical_form() == b.canonical_form() &&
         a.device_fingerprint() == b.device_fingerprint() && a.compiler() == b.compiler() &&
         a.generator_version() == b.generator_version() &&
         a.numerics_policy() == b.numerics_policy();
}

}  // namespace

LookupTable::LookupTable(KeyEnvironment here, std::vector<KeyEnvironment> others)
    : environments_([&] {
        others.insert(others.begin(), std::move(here));
        return std::move(others);
      }()) {}

void LookupTable::Put(const v1::TuningRecord& record) {
  Entry entry{record, SerialisedReply(v1::MATCH_KIND_EXACT, record),
              ExpressionShape::Of(record.key().canonical_form())};
  absl::MutexLock lock(&mutex_);
  if (entry.shape) by_structure_[entry.shape->structure].insert(record.key().expression_digest());
  std::vector<Entry>& entries = entries_[record.key().expression_digest()];
  const auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& other) {
    return SameKey(other.record.key(), record.key());
  });
  if (same == entries.end()) {
    entries.push_back(std::move(entry));
  } else {
    *same = std::move(entry);
  }
}

void LookupTable::Remove(const v1::KernelKey& key) {
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(key.expression_digest());
  if (found == entries_.end()) return;
  std::vector<Entry>& entries = found->second;
  const auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return SameKey(entry.record.key(), key);
  });
  if (same == entries.end()) return;
  const std::optional<ExpressionShape> shape = std::move(same->shape);
  entries.erase(same);
  if (!entries.empty()) return;
  entries_.erase(found);
  if (!shape) return;
  const auto alike = by_structure_.find(shape->structure);
  if (alike == by_structure_.end()) return;
  alike->second.erase(key.expression_digest());
  if (alike->second.empty()) by_structure_.erase(alike);
}

void LookupTable::Apply(v1::KernelChangeKind kind, const v1::TuningRecord& record) {
  if (kind == v1::KERNEL_CHANGE_KIND_REMOVED) {
    Remove(record.key());
  } else {
    Put(record);
  }
}

Result<grpc::Slice> LookupTable::Find(const v1::KernelKey& asked, v1::MatchKind weakest) const {
  if (asked.expression_digest().empty()) {
    return absl::InvalidArgumentError("the key has no expression digest");
  }
  const v1::KernelKey key = CompleteKey(asked, environments_);
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = entries_.find(key.expression_digest());
  const Entry* exact = nullptr;
  const Entry* compatible = nullptr;
  if (found != entries_.end()) {
    for (const Entry& entry : found->second) {
      const std::optional<v1::MatchKind> match = Match(key, entry.record.key());
      if (!match.has_value()) continue;
      const Entry*& best = *match == v1::MATCH_KIND_EXACT ? exact : compatible;
      if (best == nullptr || entry.record.time_ns() < best->record.time_ns()) best = &entry;
    }
  }
  const bool is_found =
      exact != nullptr || (compatible != nullptr && Accepts(weakest, v1::MATCH_KIND_COMPATIBLE));
  ++(is_found ? hits_ : misses_);
  if (!is_found) return Missing(key);
  return exact != nullptr ? exact->exact_reply : CompatibleReply(key, compatible->record);
}

Result<v1::TuningRecord> LookupTable::FindRecord(const v1::KernelKey& key) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = entries_.find(key.expression_digest());
  if (found != entries_.end()) {
    for (const Entry& entry : found->second) {
      if (SameKey(entry.record.key(), key)) return entry.record;
    }
  }
  return Missing(key);
}

std::vector<v1::TuningRecord> LookupTable::FindOfStructure(const v1::KernelKey& key, size_t limit,
                                                           const v1::DeviceDescription& device,
                                                           Devices devices) const {
  const std::optional<ExpressionShape> wanted = ExpressionShape::Of(key.canonical_form());
  if (!wanted) return {};
  std::vector<std::pair<double, const Entry*>> similar;
  absl::ReaderMutexLock lock(&mutex_);
  const auto alike = by_structure_.find(wanted->structure);
  if (alike == by_structure_.end()) return {};
  for (const std::string& digest : alike->second) {
    for (const Entry& entry : entries_.at(digest)) {
      const v1::KernelKey& known = entry.record.key();
      const bool is_wanted =
          devices == Devices::kAlike || (known.device_fingerprint() == key.device_fingerprint() &&
                                         known.numerics_policy() == key.numerics_policy());
      if (!entry.shape || !is_wanted) continue;
      const std::optional<double> distance =
          Distance({*wanted, key, device}, {*entry.shape, known, entry.record.device()});
      if (distance) similar.emplace_back(*distance, &entry);
    }
  }
  // Names break ties, so that a search does not depend on the order of a hash table.
  std::sort(similar.begin(), similar.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second->record.name()) < std::tie(b.first, b.second->record.name());
  });
  std::vector<v1::TuningRecord> records;
  for (size_t n = 0; n < std::min(limit, similar.size()); ++n) {
    records.push_back(similar[n].second->record);
  }
  return records;
}

std::vector<v1::TuningRecord> LookupTable::FindSimilar(const v1::KernelKey& key, size_t limit,
                                                       const v1::DeviceDescription& device) const {
  return FindOfStructure(key, limit, device, Devices::kAlike);
}

std::vector<v1::TuningRecord> LookupTable::FindNearest(const v1::KernelKey& key,
                                                       size_t limit) const {
  return FindOfStructure(key, limit, {}, Devices::kOneOnly);
}

v1::MissReason LookupTable::WhyUnknown(const v1::KernelKey& asked) const {
  const std::optional<ExpressionShape> shape = ExpressionShape::Of(asked.canonical_form());
  const auto alike = shape ? by_structure_.find(shape->structure) : by_structure_.end();
  if (alike == by_structure_.end()) return v1::MISS_REASON_UNKNOWN_COMPUTATION;
  for (const std::string& digest : alike->second) {
    for (const Entry& entry : entries_.at(digest)) {
      if (entry.record.key().device_fingerprint() == asked.device_fingerprint()) {
        return v1::MISS_REASON_OTHER_SIZES;
      }
    }
  }
  return v1::MISS_REASON_OTHER_DEVICE;
}

Status LookupTable::Missing(const v1::KernelKey& asked) const {
  v1::LookupMiss miss;
  std::string message =
      absl::StrCat("there is no kernel for expression ", asked.expression_digest());
  const auto found = entries_.find(asked.expression_digest());
  if (found == entries_.end()) {
    miss.set_reason(WhyUnknown(asked));
  } else {
    bool has_same_numerics = false;
    for (const Entry& entry : found->second) {
      const v1::KernelKey& known = entry.record.key();
      const bool is_for_device = known.device_fingerprint() == asked.device_fingerprint();
      if (is_for_device) {
        miss.set_records_for_device(miss.records_for_device() + 1);
        has_same_numerics |= known.numerics_policy() == asked.numerics_policy();
      } else {
        miss.set_records_for_other_devices(miss.records_for_other_devices() + 1);
      }
    }
    miss.set_reason(miss.records_for_device() == 0 ? v1::MISS_REASON_OTHER_DEVICE
                    : has_same_numerics            ? v1::MISS_REASON_OTHER_CODE
                                                   : v1::MISS_REASON_OTHER_NUMERICS);
    absl::StrAppend(&message, " that fits exactly; ", miss.records_for_device(),
                    " for this device with another compiler, generator or numerics policy, ",
                    miss.records_for_other_devices(), " for other devices");
  }
  return WithDetail(WithReason(absl::NotFoundError(message), v1::MissReason_Name(miss.reason())),
                    miss);
}

std::vector<v1::KeyDifference> Differences(const v1::KernelKey& asked, const v1::KernelKey& found) {
  std::vector<v1::KeyDifference> differences;
  const auto compare = [&](v1::KeyField field, const std::string& wanted,
                           const std::string& known) {
    if (wanted.empty() || wanted == known) return;
    v1::KeyDifference difference;
    difference.set_field(field);
    difference.set_asked(wanted);
    difference.set_found(known);
    differences.push_back(std::move(difference));
  };
  compare(v1::KEY_FIELD_COMPILER, asked.compiler(), found.compiler());
  compare(v1::KEY_FIELD_GENERATOR_VERSION, absl::StrCat(asked.generator_version()),
          absl::StrCat(found.generator_version()));
  if (asked.canonical_form() != found.canonical_form()) {
    compare(v1::KEY_FIELD_SIZES, SizesOf(asked.canonical_form()), SizesOf(found.canonical_form()));
  }
  compare(v1::KEY_FIELD_DEVICE, asked.device_fingerprint(), found.device_fingerprint());
  return differences;
}

}  // namespace mdh
