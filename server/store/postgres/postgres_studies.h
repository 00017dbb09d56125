// Studies in a PostgreSQL database.
#pragma once

#include <memory>

#include "server/store/postgres/postgres_pool.h"
#include "server/store/study_store.h"

namespace mdh {

// `pool` must outlive it.
std::unique_ptr<StudyStore> MakePostgresStudyStore(PostgresPool& pool);

}  // namespace mdh
