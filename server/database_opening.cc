#include "server/database_opening.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/store/postgres/postgres_address.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// A file has one daemon, so that all jobs in it are this one's.
constexpr const char* kOwnerOfFile = "mdhd";

// The same after a restart, so that a daemon goes on with its own jobs at once, and another one for
// each daemon of a machine.
std::string NameOf(const DaemonOptions& options) {
  if (!options.daemon_name.empty()) return options.daemon_name;
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, " ", options.listen.front());
}

// So long a server may be restarted, or another one take over from it, while a daemon starts.
constexpr absl::Duration kPatienceAtStart = absl::Seconds(30);
constexpr absl::Duration kBetweenAttempts = absl::Milliseconds(200);

Result<std::unique_ptr<Store>> OpenWhenItIsThere(const PostgresStoreOptions& options) {
  const int64_t deadline_ns = NowNs() + absl::ToInt64Nanoseconds(kPatienceAtStart);
  bool has_warned = false;
  while (true) {
    Result<std::unique_ptr<Store>> store = OpenPostgresStore(options);
    if (!absl::IsUnavailable(store.status()) || NowNs() >= deadline_ns) return store;
    if (!std::exchange(has_warned, true)) {
      spdlog::warn("{}; it is waited for", std::string(store.status().message()));
    }
    absl::SleepFor(kBetweenAttempts);
  }
}

Result<OpenedDatabase> OpenServer(const DaemonOptions& options) {
  const std::string name = NameOf(options);
  MDH_ASSIGN_OR_RETURN(
      std::unique_ptr<Store> store,
      OpenWhenItIsThere(
          {.address = options.database, .daemon_name = name, .patience = options.store_patience}));
  return OpenedDatabase{std::move(store), WithoutSecrets(options.database), name,
                        /*is_shared=*/true};
}

Result<OpenedDatabase> OpenFile(const DaemonOptions& options) {
  // Its kernels are code that clients run.
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    MDH_RETURN_IF_ERROR(CheckTrustedPath(options.database + suffix, options.trusted));
  }
  MDH_ASSIGN_OR_RETURN(
      std::unique_ptr<Store> store,
      OpenSqliteStore({.path = options.database, .max_bytes = options.max_database_bytes}));
  return OpenedDatabase{std::move(store), options.database, kOwnerOfFile};
}

}  // namespace

Result<OpenedDatabase> OpenDatabase(const DaemonOptions& options) {
  return IsPostgresAddress(options.database) ? OpenServer(options) : OpenFile(options);
}

}  // namespace mdh
