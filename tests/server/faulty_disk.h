// A file system for SQLite whose operations fail when a test says so.
#pragma once

#include <memory>

namespace mdh {

// What SQLite asks of a file system; values can be combined.
enum DiskOperation : unsigned {
  kDiskOpen = 1,
  kDiskRead = 2,
  kDiskWrite = 4,  // and truncations
  kDiskSync = 8,
  kDiskMap = 16,  // memory that connections share
  kDiskAll = 31,
};

// While it exists, all databases that are opened are on it, in the files that they name. One at a
// time; databases must be closed before it goes.
class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  enum class Extent { kOnce, kFromThenOn };
  // Lets operation number `at` of those of the kinds in `operations`, from 0 and from now, fail; a
  // write that fails has written the first half.
  void Fail(unsigned operations, int at, Extent extent);
  // The operations of these kinds that have failed since Fail.
  int failures() const;
  // Nothing fails any more.
  void Heal();

 private:
  struct Vfs;
  const std::unique_ptr<Vfs> vfs_;
};

}  // namespace mdh
