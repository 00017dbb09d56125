// Looks through a whole database: for what is wrong, and for figures.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/admin.pb.h"
#include "server/store/sqlite/sqlite_database.h"

namespace mdh {

// One sentence for everything that is wrong, at most 100.
Result<std::vector<std::string>> FindProblems(SqliteDatabase& database);

// Fills in counts of rows and sizes.
Status CountRows(SqliteDatabase& database, v1::Statistics& statistics);

}  // namespace mdh
