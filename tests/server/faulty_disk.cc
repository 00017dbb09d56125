#include "tests/server/faulty_disk.h"

#include <sqlite3.h>

#include <atomic>
#include <cerrno>
#include <climits>

namespace mdh {
namespace {

// What fails; SQLite calls from several threads.
struct Plan {
  std::atomic<unsigned> operations = 0;
  std::atomic<int> left = 0;  // operations before the first that fails
  std::atomic<bool> goes_on = false;
  std::atomic<int> failures = 0;

  bool Fails(unsigned operation) {
    if ((operations & operation) == 0) return false;
    const int before = left.fetch_sub(1);
    if (before > 0 || (before < 0 && !goes_on)) return false;
    ++failures;
    return true;
  }
};
Plan plan;

// In memory directly before the file of the file system below.
struct File {
  sqlite3_file base;
  sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* Below(sqlite3_file* file) { return reinterpret_cast<File*>(file)->below(); }
const sqlite3_io_methods& MethodsBelow(sqlite3_file* file) { return *Below(file)->pMethods; }

int CloseFile(sqlite3_file* file) { return MethodsBelow(file).xClose(Below(file)); }

int Read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 at) {
  // As the file system below does after EIO.
  if (plan.Fails(kDiskRead)) return SQLITE_IOERR_CORRUPTFS;
  return MethodsBelow(file).xRead(Below(file), to, bytes, at);
}

int Write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
  if (!plan.Fails(kDiskWrite)) return MethodsBelow(file).xWrite(Below(file), from, bytes, at);
  MethodsBelow(file).xWrite(Below(file), from, bytes / 2, at);
  return SQLITE_IOERR_WRITE;
}

int Truncate(sqlite3_file* file, sqlite3_int64 bytes) {
  if (plan.Fails(kDiskWrite)) return SQLITE_IOERR_TRUNCATE;
  return MethodsBelow(file).xTruncate(Below(file), bytes);
}

int Sync(sqlite3_file* file, int flags) {
  if (plan.Fails(kDiskSync)) return SQLITE_IOERR_FSYNC;
  return MethodsBelow(file).xSync(Below(file), flags);
}

int FileSize(sqlite3_file* file, sqlite3_int64* bytes) {
  return MethodsBelow(file).xFileSize(Below(file), bytes);
}

int Lock(sqlite3_file* file, int lock) { return MethodsBelow(file).xLock(Below(file), lock); }
int Unlock(sqlite3_file* file, int lock) { return MethodsBelow(file).xUnlock(Below(file), lock); }

int CheckReservedLock(sqlite3_file* file, int* is_reserved) {
  return MethodsBelow(file).xCheckReservedLock(Below(file), is_reserved);
}

int FileControl(sqlite3_file* file, int operation, void* argument) {
  if (operation == SQLITE_FCNTL_LAST_ERRNO && plan.failures > 0) {
    *static_cast<int*>(argument) = EIO;
    return SQLITE_OK;
  }
  return MethodsBelow(file).xFileControl(Below(file), operation, argument);
}

int SectorSize(sqlite3_file* file) { return MethodsBelow(file).xSectorSize(Below(file)); }

int DeviceCharacteristics(sqlite3_file* file) {
  return MethodsBelow(file).xDeviceCharacteristics(Below(file));
}

int ShmMap(sqlite3_file* file, int region, int bytes, int extend, void volatile** memory) {
  if (plan.Fails(kDiskMap)) return SQLITE_IOERR_SHMMAP;
  return MethodsBelow(file).xShmMap(Below(file), region, bytes, extend, memory);
}

int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return MethodsBelow(file).xShmLock(Below(file), offset, count, flags);
}

void ShmBarrier(sqlite3_file* file) { MethodsBelow(file).xShmBarrier(Below(file)); }

int ShmUnmap(sqlite3_file* file, int is_deleted) {
  return MethodsBelow(file).xShmUnmap(Below(file), is_deleted);
}

// Version 2: without mapped pages, which would be read past these functions.
const sqlite3_io_methods kMethods = {2,
                                     CloseFile,
                                     Read,
                                     Write,
                                     Truncate,
                                     Sync,
                                     FileSize,
                                     Lock,
                                     Unlock,
                                     CheckReservedLock,
                                     FileControl,
                                     SectorSize,
                                     DeviceCharacteristics,
                                     ShmMap,
                                     ShmLock,
                                     ShmBarrier,
                                     ShmUnmap,
                                     nullptr,
                                     nullptr};

int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;
  if (plan.Fails(kDiskOpen)) return SQLITE_CANTOPEN;
  auto* const below = static_cast<sqlite3_vfs*>(vfs->pAppData);
  const int code = below->xOpen(below, name, Below(file), flags, out_flags);
  if (Below(file)->pMethods != nullptr) file->pMethods = &kMethods;
  return code;
}

}  // namespace

struct FaultyDisk::Vfs {
  sqlite3_vfs* below;
  sqlite3_vfs vfs;
};

FaultyDisk::FaultyDisk() : vfs_(new Vfs) {
  Heal();
  vfs_->below = sqlite3_vfs_find(nullptr);
  // All but opening is done by the file system below, which does not look at what it is given.
  vfs_->vfs = *vfs_->below;
  vfs_->vfs.zName = "faulty";
  vfs_->vfs.pAppData = vfs_->below;
  vfs_->vfs.szOsFile = static_cast<int>(sizeof(File)) + vfs_->below->szOsFile;
  vfs_->vfs.xOpen = Open;
  vfs_->vfs.pNext = nullptr;
  sqlite3_vfs_register(&vfs_->vfs, /*makeDflt=*/1);
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&vfs_->vfs);
  sqlite3_vfs_register(vfs_->below, /*makeDflt=*/1);
}

void FaultyDisk::Fail(unsigned operations, int at, Extent extent) {
  plan.operations = 0;
  plan.failures = 0;
  plan.left = at;
  plan.goes_on = extent == Extent::kFromThenOn;
  plan.operations = operations;
}

int FaultyDisk::failures() const { return plan.failures; }

void FaultyDisk::Heal() { plan.operations = 0; }

}  // namespace mdh
