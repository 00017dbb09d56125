// Waits for notifications of one channel of a PostgreSQL server.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "server/store/postgres/postgres_pool.h"
#include "server/store/trial_board.h"

namespace mdh {

// With a connection of its own, which is made again when it breaks; until then only the time ends
// a wait. `pool` must outlive it. Errors: ResourceExhausted.
Result<std::unique_ptr<BoardWatch>> WatchChannel(const PostgresPool& pool, std::string channel);

}  // namespace mdh
