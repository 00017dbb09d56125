// The database of a daemon: a file of its own, or a server that it shares with others.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "server/daemon.h"
#include "server/store/store.h"

namespace mdh {

struct OpenedDatabase {
  std::unique_ptr<Store> store;
  std::string shown;       // where it is, without what is secret
  std::string owner;       // what jobs of this daemon say in it
  bool is_shared = false;  // other daemons may have it open, too
};

// Errors: as OpenSqliteStore and OpenPostgresStore; as CheckTrustedPath of a file.
Result<OpenedDatabase> OpenDatabase(const DaemonOptions& options);

}  // namespace mdh
