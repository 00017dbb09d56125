// An advisory lock on a file: who acquires it is the only one.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"

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
  // On a file itself, whatever names it has; it is made if it is not there. The lock is on a byte
  // far behind the end of any file, where SQLite has no locks of its own; but as all locks of a
  // process on a file end when it closes the file, the lock must outlive whatever it has open
  // there. Errors: as Acquire; ResourceExhausted if the disk is full.
  static Result<std::unique_ptr<FileLock>> OfFile(const std::string& path);
  // The same, with others that share it. Expects that the file is there.
  static Result<std::unique_ptr<FileLock>> ShareFile(const std::string& path);
  ~FileLock();

  // What is in the file, if it is short; empty if it cannot be read.
  std::string Text() const;
  // Without waiting for the disk. Of the same size each time. A file that cannot be written stays.
  void SetText(const std::string& text);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace mdh
