// An advisory lock on a file: who acquires it is the only one.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"

namespace mdh {

// Held until destruction, or until the process ends in any way. The file stays: removing it would
// let two processes hold "the" lock.
class FileLock {
 public:
  // Errors: Unavailable if another process holds it, FailedPrecondition if the file cannot be made,
  // ResourceExhausted if the disk is full.
  static Result<std::unique_ptr<FileLock>> Acquire(const std::string& path);
  // With others that share it, and nobody who acquires it; null if there is no such file, which is
  // not made. Errors: as Acquire.
  static Result<std::unique_ptr<FileLock>> Share(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace mdh
