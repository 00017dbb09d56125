// What is done to a PostgreSQL database of mdhd besides storing. Errors are those of Store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "mdh/v1/admin.pb.h"
#include "server/store/postgres/postgres_connection.h"
#include "server/store/store.h"

namespace mdh::postgres {

struct Forgotten {
  v1::CollectGarbageResponse counts;
  int64_t change = 0;  // the last one; 0: there was none
};

// Nothing while another daemon does the same.
Result<Forgotten> Forget(PostgresConnection& connection, const Retention& retention,
                         int64_t remembered_changes);
Result<std::vector<std::string>> CheckIntegrity(PostgresConnection& connection);
// Rows and bytes; of large tables as the server estimates them.
Status Count(PostgresConnection& connection, v1::Statistics& statistics);

}  // namespace mdh::postgres
