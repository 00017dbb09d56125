// Results in a PostgreSQL database. Errors are those of Store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "server/store/postgres/postgres_connection.h"
#include "server/store/store.h"

namespace mdh::postgres {

// Records as they are after a transaction.
struct Outcome {
  std::vector<v1::TuningRecord> records;
  int64_t change = 0;  // the last one; 0: there was none
};

// Each remembers that many changes.
Result<Outcome> PutResults(PostgresConnection& connection, absl::Span<const StoredResult> results,
                           int64_t remembered_changes);
Result<Outcome> RemoveResult(PostgresConnection& connection, const std::string& id,
                             int64_t remembered_changes);
Result<Outcome> SetPinning(PostgresConnection& connection, const std::string& id, Pinning pinning,
                           int64_t remembered_changes);
Result<Outcome> SetCertificate(PostgresConnection& connection, const std::string& id,
                               const v1::Certificate& certificate, int64_t remembered_changes);
// Sets those aside that cannot be read; says so in the log.
Status SetAside(PostgresConnection& connection, const std::vector<std::string>& ids,
                int64_t remembered_changes);

Result<RecordPage> ListRecords(PostgresConnection& connection, int64_t after, int limit);
Result<v1::TuningRecord> GetRecord(PostgresConnection& connection, std::string_view id);
Result<v1::Kernel> GetKernel(PostgresConnection& connection, std::string_view id);
Status RestoreKernel(PostgresConnection& connection, std::string_view id, const v1::Kernel& kernel);
Result<std::vector<v1::KernelChange>> ChangesAfter(PostgresConnection& connection, int64_t after,
                                                   int limit);

}  // namespace mdh::postgres
