// One daemon to a database, whatever path each of them names it by.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "server/store/file_lock.h"

namespace mdh {

// The path without symbolic links, as far as it is there: SQLite's own files are beside it.
std::string RealPath(const std::string& path);

struct DatabaseLocks {
  // On "PATH.lock", for a database whose file may not be there yet; null if there is no such file
  // and none is made.
  std::unique_ptr<FileLock> name;
  // On the database itself, which may have several names.
  std::unique_ptr<FileLock> file;

  // Of who writes; makes both files. Errors: FailedPrecondition if another process has them, or
  // they cannot be made.
  static Result<DatabaseLocks> Acquire(const std::string& path);
  // Of those who only read. Errors: as Acquire.
  static Result<DatabaseLocks> Share(const std::string& path);
};

}  // namespace mdh
