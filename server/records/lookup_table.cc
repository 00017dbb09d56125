#include "server/records/lookup_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "proto/error_details.h"
#include "server/records/similar_records.h"
#include "server/records/wire_reader.h"

namespace mdh {
namespace {

SerializedReply CompatibleReply(const v1::KernelKey& asked, v1::TuningRecord record) {
  v1::LookupKernelResponse response;
  response.set_match(v1::MATCH_KIND_COMPATIBLE);
  response.set_provenance(v1::KERNEL_PROVENANCE_MEASURED);
  for (v1::KeyDifference& difference : Differences(asked, record.key())) {
    *response.add_differences() = std::move(difference);
  }
  *response.mutable_record() = std::move(record);
  return SerializedReply(response);
}

bool Accepts(v1::MatchKind weakest, v1::MatchKind match) {
  return match == v1::MATCH_KIND_EXACT || weakest >= match;
}

// "1024,1024,64"; empty if the text is no canonical form.
std::string SizesOf(const std::string& canonical_form) {
  const std::optional<ExpressionShape> shape = ExpressionShape::Of(canonical_form);
  return shape ? absl::StrJoin(shape->sizes, ",") : std::string();
}

// The fingerprint in a serialised record; empty if it has none.
std::string_view FingerprintIn(std::string_view record) {
  for (WireReader fields(record); fields.Next();) {
    if (fields.number() != v1::TuningRecord::kKeyFieldNumber) continue;
    return KernelKeyView::Parse(fields.bytes()).value_or(KernelKeyView()).device_fingerprint;
  }
  return "";
}

std::vector<v1::TuningRecord> Parsed(const std::vector<SerializedRecordPtr>& records) {
  std::vector<v1::TuningRecord> parsed;
  for (const SerializedRecordPtr& record : records) parsed.push_back(record->Parse());
  return parsed;
}

}  // namespace

LookupTable::LookupTable(KeyEnvironment here, std::vector<KeyEnvironment> others)
    : LookupTable([&] {
        others.insert(others.begin(), std::move(here));
        return std::move(others);
      }()) {}

LookupTable::LookupTable(std::vector<KeyEnvironment> environments) {
  SetEnvironments(std::move(environments));
}

void LookupTable::SetEnvironments(std::vector<KeyEnvironment> environments) {
  absl::MutexLock lock(&mutex_);
  const Environments* const before = environments_.load(std::memory_order_acquire);
  if (before != nullptr && *before == environments) return;
  all_environments_.push_back(std::make_unique<const Environments>(std::move(environments)));
  environments_.store(all_environments_.back().get(), std::memory_order_release);
  version_.fetch_add(1, std::memory_order_release);
}

void LookupTable::SetNoDefault(Status no_default) {
  absl::MutexLock lock(&mutex_);
  if (no_default == no_default_) return;
  no_default_ = std::move(no_default);
  version_.fetch_add(1, std::memory_order_release);
}

void LookupTable::ServeOnly(std::vector<std::string> fingerprints) {
  for (std::string& fingerprint : fingerprints) served_.insert(std::move(fingerprint));
}

const KeyEnvironment& LookupTable::environment() const {
  static const KeyEnvironment& unknown = *new KeyEnvironment();
  const Environments& environments = *environments_.load(std::memory_order_acquire);
  return environments.empty() ? unknown : environments.front();
}

LookupTable::Records LookupTable::RecordsOf(std::string_view expression_digest) const {
  const HashedDigest digest(expression_digest);
  const Shard& shard = ShardOf(digest);
  absl::MutexLock lock(&shard.mutex);
  const auto found = shard.records.find(digest);
  return found == shard.records.end() ? Records() : found->second;
}

void LookupTable::PutSerialized(std::string_view record, SliceSlab* slab) {
  if (!served_.empty() && !IsServed(FingerprintIn(record))) return;
  const auto ready = slab == nullptr ? std::make_shared<const SerializedRecord>(record, nullptr)
                                     : slab->MakeShared<const SerializedRecord>(record, slab);
  structures_.Add(ready);
  SerializedRecordPtr replaced;
  const HashedDigest digest(ready->key().expression_digest);
  Shard& shard = ShardOf(digest);
  {
    absl::MutexLock lock(&shard.mutex);
    const auto [place, is_new] = shard.records.try_emplace(digest, Records{ready});
    if (!is_new) {
      // Anew: the key is of the first record, which may be replaced.
      Records records = std::move(place->second);
      shard.records.erase(place);
      const auto same = std::find_if(
          records.begin(), records.end(),
          [&](const SerializedRecordPtr& other) { return other->key() == ready->key(); });
      if (same == records.end()) {
        records.push_back(ready);
      } else {
        replaced = std::exchange(*same, ready);
      }
      const HashedDigest of_first(records.front()->key().expression_digest);
      shard.records.emplace(of_first, std::move(records));
    }
  }
  if (replaced != nullptr) structures_.Remove(replaced);
  version_.fetch_add(1, std::memory_order_release);
}

void LookupTable::Remove(const v1::KernelKey& key) {
  const KernelKeyView wanted = KernelKeyView::Of(key);
  SerializedRecordPtr removed;
  const HashedDigest digest(wanted.expression_digest);
  Shard& shard = ShardOf(digest);
  {
    absl::MutexLock lock(&shard.mutex);
    auto old = shard.records.extract(digest);
    if (!old) return;
    Records records = std::move(old.mapped());
    const auto same = std::find_if(records.begin(), records.end(),
                                   [&](const auto& other) { return other->key() == wanted; });
    if (same != records.end()) {
      removed = std::move(*same);
      records.erase(same);
    }
    if (!records.empty()) {
      const HashedDigest of_first(records.front()->key().expression_digest);
      shard.records.emplace(of_first, std::move(records));
    }
  }
  if (removed == nullptr) return;
  structures_.Remove(removed);
  version_.fetch_add(1, std::memory_order_release);
}

void LookupTable::Apply(v1::KernelChangeKind kind, const v1::TuningRecord& record) {
  if (kind == v1::KERNEL_CHANGE_KIND_REMOVED) {
    Remove(record.key());
  } else {
    Put(record);
  }
}

Result<SerializedReply> LookupTable::Find(const KernelKeyView& asked, v1::MatchKind weakest) const {
  if (asked.expression_digest.empty()) {
    return absl::InvalidArgumentError("the key has no expression digest");
  }
  const KernelKeyView key = CompleteKey(asked, *environments_.load(std::memory_order_acquire));
  if (key.device_fingerprint.empty()) return DeviceUnknown();
  if (!IsServed(key.device_fingerprint)) return NotServed(key.device_fingerprint);
  SerializedRecordPtr exact;
  SerializedRecordPtr compatible;
  const HashedDigest digest(key.expression_digest);
  const Shard& shard = ShardOf(digest);
  {
    absl::MutexLock lock(&shard.mutex);
    const auto found = shard.records.find(digest);
    if (found != shard.records.end()) {
      for (const SerializedRecordPtr& record : found->second) {
        const std::optional<v1::MatchKind> match = Match(key, record->key());
        if (!match.has_value()) continue;
        SerializedRecordPtr& best = *match == v1::MATCH_KIND_EXACT ? exact : compatible;
        if (best == nullptr || record->time_ns() < best->time_ns()) best = record;
      }
    }
  }
  if (exact != nullptr) return exact->exact_reply();
  if (compatible != nullptr && Accepts(weakest, v1::MATCH_KIND_COMPATIBLE)) {
    return CompatibleReply(key.ToProto(), compatible->Parse());
  }
  return Missing(key);
}

Result<v1::TuningRecord> LookupTable::FindRecord(const v1::KernelKey& key) const {
  const KernelKeyView wanted = KernelKeyView::Of(key);
  for (const SerializedRecordPtr& record : RecordsOf(key.expression_digest())) {
    if (record->key() == wanted) return record->Parse();
  }
  return Missing(wanted);
}

std::vector<v1::TuningRecord> LookupTable::FindSimilar(const v1::KernelKey& key, size_t limit,
                                                       const v1::DeviceDescription& device) const {
  return Parsed(structures_.FindNearest(key, limit, device, StructureIndex::Devices::kAlike));
}

std::vector<v1::TuningRecord> LookupTable::FindNearest(const v1::KernelKey& key,
                                                       size_t limit) const {
  return Parsed(structures_.FindNearest(key, limit, {}, StructureIndex::Devices::kOneOnly));
}

Status LookupTable::NotServed(std::string_view fingerprint) const {
  const std::vector<std::string> served(served_.begin(), served_.end());
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "this daemon does not serve device ", std::string(fingerprint),
          ", only (--serve-devices) ", absl::StrJoin(served, ", "), ": ask another one")),
      "DEVICE_NOT_SERVED");
}

Status LookupTable::DeviceUnknown() const {
  {
    absl::MutexLock lock(&mutex_);
    if (!no_default_.ok()) return no_default_;
  }
  return WithRetry(absl::UnavailableError(
                       "devices are being opened, and the request names no device; try again"),
                   absl::Seconds(1));
}

Status LookupTable::Missing(const KernelKeyView& asked) const {
  v1::LookupMiss miss;
  std::string message =
      absl::StrCat("there is no kernel for expression ", std::string(asked.expression_digest));
  const Records records = RecordsOf(asked.expression_digest);
  if (records.empty()) {
    miss.set_reason(structures_.WhyUnknown(asked));
  } else {
    bool has_same_numerics = false, has_same_schedule = false;
    for (const SerializedRecordPtr& record : records) {
      const KernelKeyView& known = record->key();
      const bool is_for_device = known.device_fingerprint == asked.device_fingerprint;
      if (is_for_device) {
        miss.set_records_for_device(miss.records_for_device() + 1);
        const bool is_same = known.numerics_policy == asked.numerics_policy;
        has_same_numerics |= is_same;
        has_same_schedule |= is_same && known.schedule == asked.schedule;
      } else {
        miss.set_records_for_other_devices(miss.records_for_other_devices() + 1);
      }
    }
    miss.set_reason(miss.records_for_device() == 0 ? v1::MISS_REASON_OTHER_DEVICE
                    : has_same_schedule            ? v1::MISS_REASON_OTHER_CODE
                    : has_same_numerics            ? v1::MISS_REASON_OTHER_SCHEDULE
                                                   : v1::MISS_REASON_OTHER_NUMERICS);
    absl::StrAppend(&message, " that fits exactly; ", miss.records_for_device(),
                    " for this device with another compiler, generator, numerics policy or "
                    "schedule, ",
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
