// Memory between pages that nobody may touch: every access beyond it ends the process, those of
// vector intrinsics and of tile registers too, which sanitizers do not see.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mdh {

enum class Placement {
  kAtEnd,    // the last byte is in front of such a page
  kAtBegin,  // the first byte is behind such a page
  kHeap,     // a block of the allocator, of exactly that size: for the address sanitizer
};

// Filled with `kPoison`. At the end, it is aligned to the largest power of two, up to 64, of which
// its size is a multiple; else to 64 bytes.
class GuardedBytes {
 public:
  static constexpr unsigned char kPoison = 0xA5;

  GuardedBytes(size_t size, Placement placement);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  unsigned char* data() const { return data_; }
  size_t size() const { return size_; }
  // From now on writing ends the process, where the memory is between pages.
  void ForbidWriting();
  // Whether what is left of its pages, or of the block, is as it was.
  bool IsRestIntact() const;

 private:
  size_t size_, room_;    // of the pages in between
  unsigned char* pages_;  // in front of these one that is forbidden, and one behind; null: kHeap
  unsigned char* room_begin_;
  unsigned char* data_;
};

struct NamedBytes {
  std::string name;
  const GuardedBytes* bytes = nullptr;
};

// An access beyond guarded memory writes "accesses 8 bytes behind the end of A" to the standard
// error output and ends the process, as does one to any other memory that is not there. For
// processes that do nothing else; `named` is looked at when that happens. Not where the address
// sanitizer reports these.
void ReportFaults(const std::vector<NamedBytes>* named);

}  // namespace mdh
