// Studies in the database of the daemon.
#pragma once

#include <memory>

#include "server/store/sqlite/sqlite_database.h"
#include "server/store/sqlite/sqlite_writer.h"
#include "server/store/study_store.h"

namespace mdh {

// `writer`: of the same database; it must outlive the store.
std::unique_ptr<StudyStore> MakeSqliteStudyStore(SqliteWriter& writer,
                                                 std::unique_ptr<SqliteDatabase> reader);

}  // namespace mdh
