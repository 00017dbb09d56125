#include "server/lookup_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

grpc::Slice SerialisedReply(v1::MatchKind match, const v1::TuningRecord& record) {
  v1::LookupKernelResponse response;
  response.set_match(match);
  *response.mutable_record() = record;
  return grpc::Slice(response.SerializeAsString());
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

Result<grpc::Slice> LookupTable::Find(const v1::KernelKey& asked, v1::MatchKind weakest) const {
  if (asked.expression_digest().empty()) {
    return absl::InvalidArgumentError("the key has no expression digest");
  }
  const v1::KernelKey key = CompleteKey(asked, environments_);
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = entries_.find(key.expression_digest());
  if (found == entries_.end()) return Missing(key, nullptr);
  const Entry* exact = nullptr;
  const Entry* compatible = nullptr;
  for (const Entry& entry : found->second) {
    const std::optional<v1::MatchKind> match = Match(key, entry.record.key());
    if (!match.has_value()) continue;
    const Entry*& best = *match == v1::MATCH_KIND_EXACT ? exact : compatible;
    if (best == nullptr || entry.record.time_ns() < best->record.time_ns()) best = &entry;
  }
  if (exact != nullptr) return exact->exact_reply;
  if (compatible != nullptr && weakest >= v1::MATCH_KIND_COMPATIBLE) {
    return SerialisedReply(v1::MATCH_KIND_COMPATIBLE, compatible->record);
  }
  return Missing(key, &found->second);
}

Result<v1::TuningRecord> LookupTable::FindRecord(const v1::KernelKey& key) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = entries_.find(key.expression_digest());
  if (found != entries_.end()) {
    for (const Entry& entry : found->second) {
      if (SameKey(entry.record.key(), key)) return entry.record;
    }
  }
  return Missing(key, nullptr);
}

std::vector<v1::TuningRecord> LookupTable::FindSimilar(const v1::KernelKey& key, size_t limit,
                                                       const v1::DeviceDescription& device) const {
  const std::optional<ExpressionShape> wanted = ExpressionShape::Of(key.canonical_form());
  if (!wanted) return {};
  std::vector<std::pair<double, const Entry*>> similar;
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& [digest, entries] : entries_) {
    for (const Entry& entry : entries) {
      if (!entry.shape) continue;
      const std::optional<double> distance = Distance(
          {*wanted, key, device}, {*entry.shape, entry.record.key(), entry.record.device()});
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

Status LookupTable::Missing(const v1::KernelKey& asked, const std::vector<Entry>* entries) {
  std::string message =
      absl::StrCat("there is no kernel for expression ", asked.expression_digest());
  if (entries == nullptr) return absl::NotFoundError(message);
  int other_devices = 0;
  int other_code = 0;
  for (const Entry& entry : *entries) {
    if (entry.record.key().device_fingerprint() != asked.device_fingerprint()) {
      ++other_devices;
    } else {
      ++other_code;
    }
  }
  absl::StrAppend(&message, " that fits exactly; ", other_code,
                  " for this device with another compiler, generator or numerics policy, ",
                  other_devices, " for other devices");
  return absl::NotFoundError(message);
}

}  // namespace mdh
