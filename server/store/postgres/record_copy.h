// All records of a PostgreSQL database, as fast as it gives them.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/store/postgres/postgres_pool.h"
#include "server/store/store.h"

namespace mdh {

// That a row of mdhd.records is for one of these devices, or for any if there are none.
Result<std::string> ConditionOfDevices(PostgresConnection& connection,
                                       const Store::Fingerprints& devices);

// As Store::ForEachRecord, over connections of its own, several parts of the table at once. Gives
// the ids of those that cannot be read.
Result<std::vector<std::string>> CopyRecords(const PostgresPool& pool,
                                             const Store::Fingerprints& devices,
                                             const Store::TakeRecord& take);

}  // namespace mdh
