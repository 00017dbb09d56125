#include "server/store/sqlite/database_locks.h"

#include <filesystem>

namespace mdh {
namespace {

// What FileLock's functions give.
Result<std::unique_ptr<FileLock>> NotInUse(Result<std::unique_ptr<FileLock>> lock,
                                           const std::string& path) {
  if (!absl::IsUnavailable(lock.status())) return lock;
  return FailedPrecondition("database ", path, " is in use by another mdhd");
}

}  // namespace

std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

Result<DatabaseLocks> DatabaseLocks::Acquire(const std::string& path) {
  DatabaseLocks locks;
  MDH_ASSIGN_OR_RETURN(locks.name, NotInUse(FileLock::Acquire(RealPath(path) + ".lock"), path));
  MDH_ASSIGN_OR_RETURN(locks.file, NotInUse(FileLock::OfFile(path), path));
  return locks;
}

Result<DatabaseLocks> DatabaseLocks::Share(const std::string& path) {
  DatabaseLocks locks;
  MDH_ASSIGN_OR_RETURN(locks.name, NotInUse(FileLock::Share(RealPath(path) + ".lock"), path));
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return locks;
  MDH_ASSIGN_OR_RETURN(locks.file, NotInUse(FileLock::ShareFile(path), path));
  return locks;
}

}  // namespace mdh
