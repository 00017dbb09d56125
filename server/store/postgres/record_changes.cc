#include "server/store/postgres/record_changes.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "server/records/resource_names.h"
#include "server/store/compressed_message.h"
#include "server/store/postgres/postgres_schema.h"
#include "server/store/stored_record.h"

namespace mdh {
namespace {

// What keys have in common that differ in their generator or compiler.
std::string FamilyOf(const v1::KernelKey& key) {
  v1::KernelKey family = key;
  family.clear_generator_version();
  family.clear_compiler();
  const Sha256::Sum sum = Sha256::Of(family.SerializeAsString());
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(sum.data()), sum.size()));
}

}  // namespace

Result<RecordChanges> RecordChanges::Begin(PostgresConnection& connection,
                                           const std::vector<std::string>& ids) {
  std::vector<PgRows> rows;
  MDH_ASSIGN_OR_RETURN(
      auto transaction,
      PostgresTransaction::Begin(
          connection,
          {{"SELECT last_change, readable_from FROM mdhd.store FOR UPDATE"},
           {"SELECT id, record, crc32, is_pinned FROM mdhd.records WHERE id = ANY ($1::text[])",
            {PgValue::Texts(ids)}}},
          rows));
  RecordChanges changes(std::move(transaction));
  if (!rows[0].empty()) {
    changes.first_ = changes.last_ = rows[0][0].Integer(0);
    changes.compresses_ = rows[0][0].Integer(1) >= kPostgresCompressedFrom;
  }
  for (int n = 0; n < rows[1].size(); ++n) {
    const PgRow row = rows[1][n];
    const std::string id = row.Bytes(0);
    Result<v1::TuningRecord> record = ParseChecked<v1::TuningRecord>(row, 1, "record");
    if (record.ok() && record->name() != RecordName(id)) {
      record =
          absl::FailedPreconditionError(absl::StrCat("what is stored for it is ", record->name()));
    }
    if (!record.ok()) {
      changes.damaged_[id] = std::string(record.status().message());
      continue;
    }
    if (row.Integer(3) != 0) record->set_is_pinned(true);
    changes.records_[id] = *std::move(record);
  }
  return changes;
}

std::optional<v1::TuningRecord> RecordChanges::Find(const std::string& id) const {
  const auto found = records_.find(id);
  if (found == records_.end()) return std::nullopt;
  return found->second;
}

Result<v1::TuningRecord> RecordChanges::Get(const std::string& id) const {
  const auto damaged = damaged_.find(id);
  if (damaged != damaged_.end()) return absl::FailedPreconditionError(damaged->second);
  std::optional<v1::TuningRecord> record = Find(id);
  if (!record.has_value()) return absl::NotFoundError(absl::StrCat("there is no record ", id));
  return *std::move(record);
}

void RecordChanges::AddChange(const std::string& id, v1::KernelChangeKind kind,
                              const v1::TuningRecord& record, PgValue removed) {
  writes_.push_back(
      {"INSERT INTO mdhd.changes (number, kind, id, expression_digest, removed)"
       " VALUES ($1, $2, $3, $4, $5)",
       {++last_, static_cast<int>(kind), id, record.key().expression_digest(),
        std::move(removed)}});
}

PgChecked RecordChanges::StoredOf(const v1::TuningRecord& record) const {
  return compresses_ ? PgChecked(Compressed(record.SerializeAsString())) : PgChecked(record);
}

void RecordChanges::Put(const std::string& id, const v1::TuningRecord& record,
                        const v1::Kernel& kernel) {
  const PgChecked stored = StoredOf(record);
  v1::Kernel named = kernel;
  named.set_name(KernelName(id));  // which binds it to its record
  const PgChecked stored_kernel(named);
  AddChange(id, v1::KERNEL_CHANGE_KIND_PUT, record);
  writes_.push_back(
      {"INSERT INTO mdhd.records (id, place, family, generator_version, is_provisional, record,"
       " crc32, device_fingerprint) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO "
       "UPDATE SET"
       " place = excluded.place, family = excluded.family,"
       " generator_version = excluded.generator_version, is_provisional = excluded.is_provisional,"
       " is_pinned = false, record = excluded.record, crc32 = excluded.crc32,"
       " device_fingerprint = excluded.device_fingerprint",
       {id, last_, FamilyOf(record.key()), record.key().generator_version(),
        record.is_provisional(), PgValue::Bytes(stored.bytes), stored.crc32,
        record.key().device_fingerprint()}});
  writes_.push_back(
      {"INSERT INTO mdhd.kernels VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET"
       " kernel = excluded.kernel, crc32 = excluded.crc32",
       {id, PgValue::Bytes(stored_kernel.bytes), stored_kernel.crc32}});
  damaged_.erase(id);
  records_[id] = record;
}

void RecordChanges::Update(const std::string& id, const v1::TuningRecord& record) {
  v1::TuningRecord kept = record;
  kept.clear_is_pinned();
  const PgChecked stored = StoredOf(kept);
  writes_.push_back({"UPDATE mdhd.records SET record = $2, crc32 = $3 WHERE id = $1",
                     {id, PgValue::Bytes(stored.bytes), stored.crc32}});
  AddChange(id, v1::KERNEL_CHANGE_KIND_PUT, record);
  records_[id] = record;
}

void RecordChanges::SetPinning(const std::string& id, Pinning pinning) {
  const bool is_pinned = pinning == Pinning::kPinned;
  v1::TuningRecord& record = records_[id];
  record.set_is_pinned(is_pinned);
  writes_.push_back({"UPDATE mdhd.records SET is_pinned = $2 WHERE id = $1", {id, is_pinned}});
  AddChange(id, is_pinned ? v1::KERNEL_CHANGE_KIND_PINNED : v1::KERNEL_CHANGE_KIND_UNPINNED,
            record);
}

void RecordChanges::Delete(const std::string& id) {
  writes_.push_back({"DELETE FROM mdhd.records WHERE id = $1", {id}});
  writes_.push_back({"DELETE FROM mdhd.kernels WHERE id = $1", {id}});
  records_.erase(id);
  damaged_.erase(id);
}

void RecordChanges::Remove(const std::string& id) {
  const v1::TuningRecord record = records_[id];
  AddChange(id, v1::KERNEL_CHANGE_KIND_REMOVED, record, PgValue::Bytes(record));
  Delete(id);
}

void RecordChanges::SetAside(const std::string& id) {
  writes_.push_back(
      {"INSERT INTO mdhd.quarantine (id, record, kernel) SELECT id, record, kernel"
       " FROM mdhd.records LEFT JOIN mdhd.kernels USING (id) WHERE id = $1",
       {id}});
  Delete(id);
}

Result<int64_t> RecordChanges::Commit(int64_t remembered_changes) {
  if (writes_.empty()) return 0;
  if (last_ > first_) {
    writes_.push_back({"UPDATE mdhd.store SET last_change = $1", {last_}});
    // None of this transaction, of which nobody has heard yet.
    writes_.push_back(
        {"DELETE FROM mdhd.changes WHERE number <= $1", {first_ - remembered_changes}});
    writes_.push_back({"SELECT pg_notify('mdhd_changes', '')"});
  }
  MDH_RETURN_IF_ERROR(transaction_->Commit(std::move(writes_)));
  return last_ > first_ ? last_ : 0;
}

}  // namespace mdh
