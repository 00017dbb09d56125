// The board of trials in a PostgreSQL database, for all daemons that share it.
#pragma once

#include <memory>

#include "server/store/postgres/postgres_pool.h"
#include "server/store/trial_board.h"

namespace mdh {

// `pool` must outlive it.
std::unique_ptr<TrialBoard> MakePostgresTrialBoard(PostgresPool& pool);

}  // namespace mdh
