// The store that several daemons share: a PostgreSQL database.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "server/store/store.h"

namespace mdh {

struct PostgresStoreOptions {
  std::string address;  // as libpq reads it: postgresql://USER@HOST,HOST/DATABASE?NAME=VALUE
  // Of this daemon, among those that have the database open; empty: none.
  std::string daemon_name = "";
  absl::Duration name_patience = absl::Seconds(15);  // as ChangeFollowerOptions
  // How long a call waits for a server that is not there; then it is Unavailable.
  absl::Duration patience = absl::Seconds(2);
  int64_t remembered_changes = 1'000'000;
  int64_t kept_kernel_bytes = int64_t{64} << 20;  // given while the server is not there
  int most_connections = 8;  // besides one for the changes, and those of ForEachRecord
};

// Opens the database, makes its tables if there are none, and brings older ones up to date. If no
// server of the address can be written, what is stored is served, and every call that writes fails.
// Errors: FailedPrecondition if libpq is not there, credentials are wrong, schema mdhd belongs to
// another application or is of a version that this mdhd does not know, or another daemon has the
// name; Unavailable if there is no server now; InvalidArgument if that is no address.
//
// Once it is open, a server that goes away and comes back is no error but of the calls meanwhile;
// one that is another than it was, or older, is: nothing is written from then on (CheckWritable).
Result<std::unique_ptr<Store>> OpenPostgresStore(const PostgresStoreOptions& options);

}  // namespace mdh
