// Rows of records, kernels, pins and changes. Errors are those of Store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "server/store/sqlite/sqlite_database.h"
#include "server/store/store.h"

namespace mdh {

// A row that was changed, as the listener is told.
struct ChangedRecord {
  v1::KernelChangeKind kind = v1::KERNEL_CHANGE_KIND_UNSPECIFIED;
  v1::TuningRecord record;
  int64_t number = 0;
};

struct PutOutcome {
  v1::TuningRecord stored;              // now
  std::optional<ChangedRecord> change;  // none: what was there stayed
};

// As Store::PutResult.
Result<PutOutcome> PutResultRows(SqliteDatabase& database, const StoredResult& result);
// As Store::RemoveResult.
Result<ChangedRecord> RemoveResultRows(SqliteDatabase& database, const std::string& id);
// As Store::SetPinning; no change if it is as it was.
Result<PutOutcome> SetPinningRow(SqliteDatabase& database, const std::string& id, Pinning pinning);
// As Store::SetCertificate; no change if it is as it was.
Result<PutOutcome> SetCertificateRow(SqliteDatabase& database, const std::string& id,
                                     const v1::Certificate& certificate);

// Rows of records from `first` to `last`.
struct RecordRows {
  int64_t first = 0;
  int64_t last = 0;
};
// From the first record to the last one.
Result<RecordRows> AllRecordRows(SqliteDatabase& database);
// Gives every record in these rows to `take`. Ids of those that cannot be read are added to
// `damaged`.
Status ReadRecords(SqliteDatabase& database, const RecordRows& rows,
                   const Store::Fingerprints& devices, const Store::TakeRecord& take,
                   std::vector<std::string>& damaged);
// As Store::ListRecords.
Result<RecordPage> ReadRecordPage(SqliteDatabase& database, int64_t after, int limit);
// Moves a record and its kernel to the quarantine.
Status QuarantineRows(SqliteDatabase& database, const std::string& id);
Result<v1::TuningRecord> ReadRecord(SqliteDatabase& database, const std::string& id);
Status PutKernelRow(SqliteDatabase& database, const std::string& id, v1::Kernel kernel);
Result<v1::Kernel> ReadKernel(SqliteDatabase& database, std::string_view id);

Result<int64_t> ReadLatestChange(SqliteDatabase& database);
Result<std::vector<v1::KernelChange>> ReadChanges(SqliteDatabase& database, int64_t after,
                                                  int limit);

// Ids of results of older generators that one of `generator_version` stands in for, but for pinned
// ones.
Result<std::vector<std::string>> ReadReplacedResults(SqliteDatabase& database,
                                                     int generator_version);

}  // namespace mdh
