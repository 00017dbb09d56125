// What is forgotten: jobs that ended long ago, and results that newer ones replace.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "mdh/v1/admin.pb.h"
#include "server/store/sqlite/sqlite_database.h"
#include "server/store/sqlite/sqlite_results.h"
#include "server/store/store.h"

namespace mdh {

// As Store::Forget. Adds the changes of records to `changes`.
Result<v1::CollectGarbageResponse> ForgetRows(SqliteDatabase& database, const Retention& retention,
                                              std::vector<ChangedRecord>& changes);

}  // namespace mdh
