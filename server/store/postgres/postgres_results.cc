#include "server/store/postgres/postgres_results.h"

#include <google/protobuf/util/time_util.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/records/resource_names.h"
#include "server/store/postgres/record_changes.h"
#include "server/store/postgres/stored_messages.h"
#include "server/store/put_policy.h"

namespace mdh::postgres {
namespace {

// The record as it is stored after that result was given.
v1::TuningRecord PutOne(RecordChanges& changes, const std::string& id, const StoredResult& result) {
  std::optional<v1::TuningRecord> stored = changes.Find(id);
  if (!stored.has_value() || !StaysBefore(*stored, result)) {
    v1::TuningRecord record = result.record;
    record.clear_is_pinned();
    changes.Put(id, record, result.kernel);
    return record;
  }
  std::optional<v1::TuningRecord> more = WithEffortOf(result, *stored);
  if (!more.has_value()) return *std::move(stored);
  changes.Update(id, *more);
  return *std::move(more);
}

// A record from the columns of a row: record, crc32, is_pinned.
Result<v1::TuningRecord> ParseRecord(const PgRow& row) {
  MDH_ASSIGN_OR_RETURN(v1::TuningRecord record, ParseChecked<v1::TuningRecord>(row, 0, "record"));
  if (row.Integer(2) != 0) record.set_is_pinned(true);
  return record;
}

}  // namespace

Result<Outcome> PutResults(PostgresConnection& connection, absl::Span<const StoredResult> results,
                           int64_t remembered_changes) {
  std::vector<std::string> ids;
  for (const StoredResult& result : results) {
    MDH_ASSIGN_OR_RETURN(ids.emplace_back(), ParseRecordName(result.record.name()));
  }
  MDH_ASSIGN_OR_RETURN(RecordChanges changes, RecordChanges::Begin(connection, ids));
  Outcome outcome;
  for (size_t n = 0; n < results.size(); ++n) {
    outcome.records.push_back(PutOne(changes, ids[n], results[n]));
  }
  MDH_ASSIGN_OR_RETURN(outcome.change, changes.Commit(remembered_changes));
  return outcome;
}

Result<Outcome> RemoveResult(PostgresConnection& connection, const std::string& id,
                             int64_t remembered_changes) {
  MDH_ASSIGN_OR_RETURN(RecordChanges changes, RecordChanges::Begin(connection, {id}));
  MDH_ASSIGN_OR_RETURN(v1::TuningRecord record, changes.Get(id));
  if (record.is_pinned()) {
    return absl::FailedPreconditionError(
        absl::StrCat(record.name(), " is pinned; unpin it before"));
  }
  changes.Remove(id);
  MDH_ASSIGN_OR_RETURN(const int64_t change, changes.Commit(remembered_changes));
  return Outcome{{std::move(record)}, change};
}

Result<Outcome> SetPinning(PostgresConnection& connection, const std::string& id, Pinning pinning,
                           int64_t remembered_changes) {
  MDH_ASSIGN_OR_RETURN(RecordChanges changes, RecordChanges::Begin(connection, {id}));
  MDH_ASSIGN_OR_RETURN(v1::TuningRecord record, changes.Get(id));
  const bool is_wanted = pinning == Pinning::kPinned;
  if (is_wanted && record.is_provisional()) {
    return absl::FailedPreconditionError(
        absl::StrCat(record.name(), " is provisional; pin it when its search has ended"));
  }
  if (record.is_pinned() != is_wanted) changes.SetPinning(id, pinning);
  record.set_is_pinned(is_wanted);
  MDH_ASSIGN_OR_RETURN(const int64_t change, changes.Commit(remembered_changes));
  return Outcome{{std::move(record)}, change};
}

Result<Outcome> SetCertificate(PostgresConnection& connection, const std::string& id,
                               const v1::Certificate& certificate, int64_t remembered_changes) {
  MDH_ASSIGN_OR_RETURN(RecordChanges changes, RecordChanges::Begin(connection, {id}));
  MDH_ASSIGN_OR_RETURN(v1::TuningRecord record, changes.Get(id));
  const std::string wanted = certificate.SerializeAsString();
  if (record.certificate().SerializeAsString() != wanted) {
    *record.mutable_certificate() = certificate;
    changes.Update(id, record);
  }
  MDH_ASSIGN_OR_RETURN(const int64_t change, changes.Commit(remembered_changes));
  return Outcome{{std::move(record)}, change};
}

Status SetAside(PostgresConnection& connection, const std::vector<std::string>& ids,
                int64_t remembered_changes) {
  MDH_ASSIGN_OR_RETURN(RecordChanges changes, RecordChanges::Begin(connection, ids));
  for (const std::string& id : ids) {
    // Another daemon may have replaced it since.
    if (!changes.IsDamaged(id)) continue;
    changes.SetAside(id);
    spdlog::error("record {} cannot be read and was set aside", id);
  }
  return changes.Commit(remembered_changes).status();
}

Result<RecordPage> ListRecords(PostgresConnection& connection, int64_t after, int limit) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("SELECT record, crc32, is_pinned, place FROM mdhd.records WHERE place > $1"
                     " ORDER BY place LIMIT $2",
                     after, int64_t{limit} + 1));
  RecordPage page{.records = {}, .last = after, .has_more = rows.size() > limit};
  for (int n = 0; n < std::min(rows.size(), limit); ++n) {
    Result<v1::TuningRecord> record = ParseRecord(rows[n]);
    if (record.ok()) page.records.push_back(*std::move(record));
    page.last = rows[n].Integer(3);
  }
  return page;
}

Result<v1::TuningRecord> GetRecord(PostgresConnection& connection, std::string_view id) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("SELECT record, crc32, is_pinned FROM mdhd.records WHERE id = $1", id));
  if (rows.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no record ", std::string(id)));
  }
  return ParseRecord(rows[0]);
}

Result<v1::Kernel> GetKernel(PostgresConnection& connection, std::string_view id) {
  MDH_ASSIGN_OR_RETURN(const PgRows rows,
                       connection.Run("SELECT kernel, crc32 FROM mdhd.kernels WHERE id = $1", id));
  if (rows.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no kernel ", std::string(id)));
  }
  Result<v1::Kernel> kernel = ParseChecked<v1::Kernel>(rows[0], 0, "kernel");
  if (kernel.ok() && kernel->name() == KernelName(id)) return kernel;
  const std::string why = kernel.ok() ? absl::StrCat("what is stored for it is ", kernel->name())
                                      : std::string(kernel.status().message());
  spdlog::error("kernel {}: {}", std::string(id), why);
  return absl::NotFoundError(absl::StrCat("kernel ", std::string(id), " cannot be read: ", why));
}

Status RestoreKernel(PostgresConnection& connection, std::string_view id,
                     const v1::Kernel& kernel) {
  v1::Kernel named = kernel;
  named.set_name(KernelName(id));
  const PgChecked stored(named);
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("INSERT INTO mdhd.kernels SELECT id, $2::bytea, $3::bigint FROM mdhd.records"
                     " WHERE id = $1 ON CONFLICT (id) DO UPDATE SET kernel = excluded.kernel,"
                     " crc32 = excluded.crc32",
                     id, PgValue::Bytes(stored.bytes), stored.crc32));
  if (rows.changed() > 0) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("there is no record ", std::string(id)));
}

Result<std::vector<v1::KernelChange>> ChangesAfter(PostgresConnection& connection, int64_t after,
                                                   int limit) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("SELECT number, kind, id, expression_digest,"
                     " (extract(epoch FROM at) * 1000000)::bigint FROM mdhd.changes"
                     " WHERE number > $1 ORDER BY number LIMIT $2",
                     after, limit));
  std::vector<v1::KernelChange> changes;
  for (int n = 0; n < rows.size(); ++n) {
    v1::KernelChange& change = changes.emplace_back();
    change.set_number(rows[n].Integer(0));
    change.set_kind(static_cast<v1::KernelChangeKind>(rows[n].Integer(1)));
    change.set_record(RecordName(rows[n].View(2)));
    change.set_expression_digest(rows[n].Bytes(3));
    *change.mutable_time() =
        google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(rows[n].Integer(4));
  }
  return changes;
}

}  // namespace mdh::postgres
