#include "server/store/sqlite/sqlite_results.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/records/resource_names.h"
#include "server/store/crc32.h"
#include "server/store/put_policy.h"
#include "server/store/sqlite/sqlite_connection.h"
#include "server/store/stored_record.h"

namespace mdh {
namespace {

Status NoRecord(const std::string& id) { return NotFound("there is no record ", id); }

// Writes a change of the record down.
Result<ChangedRecord> AddChange(SqliteDatabase& database, v1::KernelChangeKind kind,
                                const v1::TuningRecord& record) {
  v1::KernelChange change;
  change.set_kind(kind);
  change.set_record(record.name());
  change.set_expression_digest(record.key().expression_digest());
  *change.mutable_time() = google::protobuf::util::TimeUtil::GetCurrentTime();
  ChangedRecord changed{kind, record, 0};
  MDH_ASSIGN_OR_RETURN(
      changed.number,
      NumberFromSql(database, "INSERT INTO changes (change) VALUES (?1) RETURNING number",
                    BytesOf(change)));
  MDH_RETURN_IF_ERROR(RunSql(database, "DELETE FROM changes WHERE number <= ?1",
                             changed.number - kRememberedChanges));
  return changed;
}

// What ParseRecord reads. SQLite would fetch the record, which fills more than a page, once more to
// compare checksums.
#define MDH_RECORD_COLUMNS "record, records.crc32, pins.id IS NOT NULL"

bool IsWhole(const SqliteStatement& row) { return Crc32Of(row.View(0)) == row.Integer(1); }

// A record from the columns above, which are the first of a row.
Result<v1::TuningRecord> ParseRecord(const SqliteStatement& row) {
  if (!IsWhole(row)) return FailedPrecondition("a stored record is damaged");
  MDH_ASSIGN_OR_RETURN(v1::TuningRecord record,
                       ParseStored<v1::TuningRecord>(row.Bytes(0), "record"));
  if (row.Integer(2) != 0) record.set_is_pinned(true);
  return record;
}

// The record with the key of `result`, if it is to stay. In one transaction with what follows,
// which no other writer comes between: there is one.
Result<std::optional<v1::TuningRecord>> FindBetter(SqliteDatabase& database,
                                                   const StoredResult& result) {
  const v1::KernelKey& key = result.record.key();
  MDH_ASSIGN_OR_RETURN(
      SqliteUse find,
      SqliteUse::Of(database,
                    "SELECT " MDH_RECORD_COLUMNS " FROM records LEFT JOIN pins USING (id)"
                    " WHERE expression_digest = ?1 AND canonical_form = ?2"
                    " AND device_fingerprint = ?3 AND compiler = ?4 AND generator_version = ?5"
                    " AND numerics_policy = ?6 AND schedule = ?7",
                    key.expression_digest(), key.canonical_form(), key.device_fingerprint(),
                    key.compiler(), key.generator_version(), int{key.numerics_policy()},
                    key.schedule()));
  MDH_ASSIGN_OR_RETURN(const bool has_row, find->Step());
  if (!has_row) return std::nullopt;
  Result<v1::TuningRecord> stored = ParseRecord(*find);
  // One that cannot be read is replaced.
  if (!stored.ok() || !StaysBefore(*stored, result)) return std::nullopt;
  return *std::move(stored);
}

// Replaces the bytes of a record whose key and time stay.
Result<PutOutcome> UpdateRecord(SqliteDatabase& database, v1::TuningRecord record) {
  MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(record.name()));
  v1::TuningRecord kept = record;
  kept.clear_is_pinned();
  MDH_RETURN_IF_ERROR(RunSql(database,
                             "UPDATE records SET record = ?2, crc32 = crc32(?2) WHERE id = ?1", id,
                             BytesOf(kept)));
  MDH_ASSIGN_OR_RETURN(ChangedRecord changed,
                       AddChange(database, v1::KERNEL_CHANGE_KIND_PUT, record));
  return PutOutcome{std::move(record), std::move(changed)};
}

// A search that found nothing better stands behind the record that stays, too.
Result<PutOutcome> AddEffort(SqliteDatabase& database, v1::TuningRecord stored,
                             const StoredResult& worse) {
  std::optional<v1::TuningRecord> changed = WithEffortOf(worse, stored);
  if (!changed.has_value()) return PutOutcome{std::move(stored), std::nullopt};
  return UpdateRecord(database, *std::move(changed));
}

Status DeleteRows(SqliteDatabase& database, const std::string& id) {
  for (const char* sql : {"DELETE FROM records WHERE id = ?1", "DELETE FROM kernels WHERE id = ?1",
                          "DELETE FROM pins WHERE id = ?1"}) {
    MDH_RETURN_IF_ERROR(RunSql(database, sql, id));
  }
  return absl::OkStatus();
}

}  // namespace

Result<v1::TuningRecord> ReadRecord(SqliteDatabase& database, const std::string& id) {
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningRecord> record,
                       FirstRow(database, ParseRecord,
                                "SELECT " MDH_RECORD_COLUMNS
                                " FROM records LEFT JOIN pins USING (id) WHERE records.id = ?1",
                                id));
  if (!record.has_value()) return NoRecord(id);
  return *std::move(record);
}

Status PutKernelRow(SqliteDatabase& database, const std::string& id, v1::Kernel kernel) {
  // Which binds it to its record.
  kernel.set_name(KernelName(id));
  return RunSql(database,
                "INSERT OR REPLACE INTO kernels (id, kernel, crc32) VALUES (?1, ?2, crc32(?2))", id,
                BytesOf(kernel));
}

Result<PutOutcome> PutResultRows(SqliteDatabase& database, const StoredResult& result) {
  v1::TuningRecord record = result.record;
  record.clear_is_pinned();
  MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(record.name()));
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningRecord> better, FindBetter(database, result));
  if (better.has_value()) return AddEffort(database, *std::move(better), result);
  const v1::KernelKey& key = record.key();
  MDH_RETURN_IF_ERROR(
      RunSql(database,
             "INSERT OR REPLACE INTO records (id, expression_digest, canonical_form,"
             " device_fingerprint, compiler, generator_version, numerics_policy, schedule, time_ns,"
             " record, is_provisional, crc32)"
             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, crc32(?10))",
             id, key.expression_digest(), key.canonical_form(), key.device_fingerprint(),
             key.compiler(), key.generator_version(), int{key.numerics_policy()}, key.schedule(),
             record.time_ns(), BytesOf(record), record.is_provisional()));
  MDH_RETURN_IF_ERROR(PutKernelRow(database, id, result.kernel));
  MDH_ASSIGN_OR_RETURN(ChangedRecord changed,
                       AddChange(database, v1::KERNEL_CHANGE_KIND_PUT, record));
  return PutOutcome{std::move(record), std::move(changed)};
}

Result<ChangedRecord> RemoveResultRows(SqliteDatabase& database, const std::string& id) {
  MDH_ASSIGN_OR_RETURN(const v1::TuningRecord record, ReadRecord(database, id));
  if (record.is_pinned()) return FailedPrecondition(record.name(), " is pinned; unpin it before");
  MDH_RETURN_IF_ERROR(DeleteRows(database, id));
  return AddChange(database, v1::KERNEL_CHANGE_KIND_REMOVED, record);
}

Result<PutOutcome> SetPinningRow(SqliteDatabase& database, const std::string& id, Pinning pinning) {
  MDH_ASSIGN_OR_RETURN(v1::TuningRecord record, ReadRecord(database, id));
  const bool is_wanted = pinning == Pinning::kPinned;
  if (is_wanted && record.is_provisional()) {
    return FailedPrecondition(record.name(), " is provisional; pin it when its search has ended");
  }
  if (record.is_pinned() == is_wanted) return PutOutcome{std::move(record), std::nullopt};
  MDH_RETURN_IF_ERROR(RunSql(
      database, is_wanted ? "INSERT INTO pins (id) VALUES (?1)" : "DELETE FROM pins WHERE id = ?1",
      id));
  record.set_is_pinned(is_wanted);
  MDH_ASSIGN_OR_RETURN(ChangedRecord changed, AddChange(database,
                                                        is_wanted ? v1::KERNEL_CHANGE_KIND_PINNED
                                                                  : v1::KERNEL_CHANGE_KIND_UNPINNED,
                                                        record));
  return PutOutcome{std::move(record), std::move(changed)};
}

Result<PutOutcome> SetCertificateRow(SqliteDatabase& database, const std::string& id,
                                     const v1::Certificate& certificate) {
  MDH_ASSIGN_OR_RETURN(v1::TuningRecord record, ReadRecord(database, id));
  if (record.certificate().SerializeAsString() == certificate.SerializeAsString()) {
    return PutOutcome{std::move(record), std::nullopt};
  }
  *record.mutable_certificate() = certificate;
  return UpdateRecord(database, std::move(record));
}

Result<RecordRows> AllRecordRows(SqliteDatabase& database) {
  MDH_ASSIGN_OR_RETURN(const int64_t first,
                       database.QueryInteger("SELECT ifnull(min(rowid), 1) FROM records"));
  MDH_ASSIGN_OR_RETURN(const int64_t last,
                       database.QueryInteger("SELECT ifnull(max(rowid), 0) FROM records"));
  return RecordRows{first, last};
}

Status ReadRecords(SqliteDatabase& database, const RecordRows& rows,
                   const Store::Fingerprints& devices, const Store::TakeRecord& take,
                   std::vector<std::string>& damaged) {
  // Each between two line breaks; empty: all.
  std::string lines;
  for (const std::string& device : devices) absl::StrAppend(&lines, device, "\n");
  if (!lines.empty()) lines.insert(0, "\n");
  MDH_ASSIGN_OR_RETURN(SqliteUse read,
                       SqliteUse::Of(database,
                                     "SELECT " MDH_RECORD_COLUMNS
                                     ", records.id FROM records LEFT JOIN pins USING (id)"
                                     " WHERE records.rowid BETWEEN ?1 AND ?2 AND (?3 = '' OR"
                                     " instr(?3, char(10) || device_fingerprint || char(10)) > 0)",
                                     rows.first, rows.last, lines));
  return ForEachRow(*read, [&](const SqliteStatement& row) {
    const std::string id = row.Bytes(3);
    const std::string_view record = row.View(0);
    const bool is_whole = IsWhole(row) && NameIn(record) == RecordName(id);
    if (!is_whole) {
      damaged.push_back(id);
    } else if (row.Integer(2) == 0) {
      take(record);
    } else {
      take(Pinned(record));
    }
    return absl::OkStatus();
  });
}

Result<RecordPage> ReadRecordPage(SqliteDatabase& database, int64_t after, int limit) {
  MDH_ASSIGN_OR_RETURN(SqliteUse read,
                       SqliteUse::Of(database,
                                     "SELECT " MDH_RECORD_COLUMNS
                                     ", records.rowid FROM records LEFT JOIN pins USING (id)"
                                     " WHERE records.rowid > ?1 ORDER BY records.rowid LIMIT ?2",
                                     after, limit + 1));
  RecordPage page{.records = {}, .last = after, .has_more = false};
  for (int rows = 0; rows <= limit; ++rows) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, read->Step());
    if (!has_row) return page;
    if (rows == limit) break;
    Result<v1::TuningRecord> record = ParseRecord(*read);
    if (record.ok()) page.records.push_back(*std::move(record));
    page.last = read->Integer(3);
  }
  page.has_more = true;
  return page;
}

Status QuarantineRows(SqliteDatabase& database, const std::string& id) {
  // It may have been replaced since it was found to be damaged.
  const Result<v1::TuningRecord> record = ReadRecord(database, id);
  if (absl::IsNotFound(record.status())) return absl::OkStatus();
  if (record.ok() && record->name() == RecordName(id)) return absl::OkStatus();
  MDH_RETURN_IF_ERROR(RunSql(database,
                             "INSERT INTO quarantine (id, record, kernel) SELECT id, record, kernel"
                             " FROM records LEFT JOIN kernels USING (id) WHERE id = ?1",
                             id));
  return DeleteRows(database, id);
}

Result<v1::Kernel> ReadKernel(SqliteDatabase& database, std::string_view id) {
  const auto parse = [](const SqliteStatement& row) {
    return ParseChecked<v1::Kernel>(row, 0, "kernel");
  };
  MDH_ASSIGN_OR_RETURN(
      std::optional<v1::Kernel> kernel,
      FirstRow(database, parse, "SELECT kernel, crc32 = crc32(kernel) FROM kernels WHERE id = ?1",
               id));
  if (!kernel.has_value()) return NotFound("there is no kernel ", std::string(id));
  // The index of a damaged database may lead to the row of another one.
  if (kernel->name() != KernelName(id)) {
    return FailedPrecondition("what is stored for it is ", kernel->name());
  }
  return *std::move(kernel);
}

Result<int64_t> ReadLatestChange(SqliteDatabase& database) {
  // The sequence also knows of changes that are forgotten.
  const Result<int64_t> latest =
      database.QueryInteger("SELECT seq FROM sqlite_sequence WHERE name = 'changes'");
  return absl::IsNotFound(latest.status()) ? Result<int64_t>(0) : latest;
}

Result<std::vector<v1::KernelChange>> ReadChanges(SqliteDatabase& database, int64_t after,
                                                  int limit) {
  const auto parse = [](const SqliteStatement& row) -> Result<v1::KernelChange> {
    MDH_ASSIGN_OR_RETURN(v1::KernelChange change,
                         ParseStored<v1::KernelChange>(row.Bytes(1), "change"));
    change.set_number(row.Integer(0));
    return change;
  };
  return AllRows(database, parse,
                 "SELECT number, change FROM changes WHERE number > ?1 ORDER BY number LIMIT ?2",
                 after, limit);
}

Result<std::vector<std::string>> ReadReplacedResults(SqliteDatabase& database,
                                                     int generator_version) {
  return AllRows(
      database, [](const SqliteStatement& row) -> Result<std::string> { return row.Bytes(0); },
      "SELECT old.id FROM records old LEFT JOIN pins USING (id)"
      " WHERE old.generator_version < ?1 AND pins.id IS NULL AND EXISTS ("
      " SELECT 1 FROM records new WHERE new.generator_version = ?1"
      " AND new.is_provisional = 0"
      " AND new.expression_digest = old.expression_digest"
      " AND new.canonical_form = old.canonical_form"
      " AND new.device_fingerprint = old.device_fingerprint"
      " AND new.numerics_policy = old.numerics_policy"
      " AND new.schedule = old.schedule)",
      generator_version);
}

}  // namespace mdh
