#include "server/store/sqlite/sqlite_place.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "server/store/sqlite/database_locks.h"

namespace mdh {

Result<SqlitePlace::File> SqlitePlace::Find(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return FailedPrecondition(path, ": ", std::strerror(errno));
  return File{path, found.st_dev, found.st_ino};
}

Status SqlitePlace::Note() {
  MDH_ASSIGN_OR_RETURN(File database, Find(path_));
  MDH_ASSIGN_OR_RETURN(File log, Find(RealPath(path_) + "-wal"));
  files_ = {std::move(database), std::move(log)};
  return absl::OkStatus();
}

Status SqlitePlace::Check(const File& file) {
  struct stat found {};
  if (stat(file.path.c_str(), &found) != 0) {
    // Of other errors the disk itself will tell.
    if (errno != ENOENT && errno != ENOTDIR) return absl::OkStatus();
    return FailedPrecondition(file.path, " was moved or deleted while the daemon used it");
  }
  if (found.st_dev == file.device && found.st_ino == file.inode) return absl::OkStatus();
  return FailedPrecondition(file.path, " was replaced by another file while the daemon used it");
}

Status SqlitePlace::Check() const {
  Status moved;
  for (const File& file : files_) moved.Update(Check(file));
  absl::MutexLock lock(&mutex_);
  if (moved.ok()) {
    recovered_.clear();  // of another time
    return moved;
  }
  return FailedPrecondition(
      "database ", std::string(moved.message()), ": nothing is written; ",
      recovered_.empty()
          ? "what is stored is kept open until the daemon ends"
          : absl::StrCat("all that is stored is in ", recovered_, ": end the daemon, move that to ",
                         path_, ", and start it again"));
}

void SqlitePlace::LookAfter(SqliteWriter& writer) {
  const Status moved = Check();
  if (moved.ok()) return;
  {
    absl::MutexLock lock(&mutex_);
    if (!recovered_.empty()) return;
  }
  spdlog::error("{}", std::string(moved.message()));
  const Status saved = writer.Use([this](SqliteDatabase& database) { return Recover(database); });
  spdlog::error("{}", std::string((saved.ok() ? Check() : saved).message()));
}

Status SqlitePlace::Recover(SqliteDatabase& database) {
  // Its log may stay behind beside another file, which must not take it for its own.
  const Status emptied = database.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!emptied.ok()) spdlog::error("{}", std::string(emptied.message()));
  std::string path = path_ + ".recovered";
  for (int n = 2; std::filesystem::exists(path); ++n) path = absl::StrCat(path_, ".recovered-", n);
  MDH_RETURN_IF_ERROR(database.CopyTo(path));
  absl::MutexLock lock(&mutex_);
  recovered_ = std::move(path);
  return absl::OkStatus();
}

}  // namespace mdh
