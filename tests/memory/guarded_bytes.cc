#include "tests/memory/guarded_bytes.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mdh {
namespace {

constexpr size_t kAlignment = 64;

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

const std::vector<NamedBytes>* reported = nullptr;

// Of the memory that is next to `address`, if that is within a page of one.
void OnFault(int number, siginfo_t* info, void* /*context*/) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  char text[256];
  int length = std::snprintf(text, sizeof text, "signal %d at %p", number, info->si_addr);
  for (const NamedBytes& named : *reported) {
    const auto begin = reinterpret_cast<uintptr_t>(named.bytes->data());
    const uintptr_t end = begin + named.bytes->size();
    const uintptr_t near = PageBytes();
    if (address >= end && address - end < near) {
      length = std::snprintf(text, sizeof text, "accesses %zu bytes behind the end of %s",
                             static_cast<size_t>(address - end), named.name.c_str());
    } else if (address < begin && begin - address <= near) {
      length = std::snprintf(text, sizeof text, "accesses %zu bytes before %s",
                             static_cast<size_t>(begin - address), named.name.c_str());
    } else if (address >= begin && address < end) {
      length = std::snprintf(text, sizeof text, "writes to %s", named.name.c_str());
    }
  }
  const auto most = static_cast<int>(sizeof text) - 1;
  if (write(STDERR_FILENO, text, static_cast<size_t>(std::min(length, most))) < 0) _exit(2);
  _exit(1);
}

}  // namespace

GuardedBytes::GuardedBytes(size_t size, Placement placement) : size_(size) {
  if (placement == Placement::kHeap) {
    void* block = nullptr;
    if (posix_memalign(&block, kAlignment, size) != 0) std::abort();
    pages_ = nullptr;
    room_ = size;
    data_ = room_begin_ = static_cast<unsigned char*>(block);
  } else {
    const size_t page = PageBytes();
    room_ = std::max<size_t>((size + page - 1) / page, 1) * page;
    void* const pages =
        mmap(nullptr, room_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) std::abort();
    pages_ = static_cast<unsigned char*>(pages);
    room_begin_ = pages_ + page;
    if (mprotect(room_begin_, room_, PROT_READ | PROT_WRITE) != 0) std::abort();
    data_ = placement == Placement::kAtEnd ? room_begin_ + room_ - size : room_begin_;
  }
  if (room_ > 0) std::memset(room_begin_, kPoison, room_);
}

GuardedBytes::~GuardedBytes() {
  if (pages_ == nullptr) {
    std::free(room_begin_);
  } else {
    munmap(pages_, room_ + 2 * PageBytes());
  }
}

void GuardedBytes::ForbidWriting() {
  if (pages_ != nullptr) mprotect(room_begin_, room_, PROT_READ);
}

bool GuardedBytes::IsRestIntact() const {
  const auto is_poison = [](unsigned char byte) { return byte == kPoison; };
  return std::all_of(room_begin_, data_, is_poison) &&
         std::all_of(data_ + size_, room_begin_ + room_, is_poison);
}

void ReportFaults(const std::vector<NamedBytes>* named) {
  reported = named;
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  for (const int number : {SIGSEGV, SIGBUS}) sigaction(number, &action, nullptr);
}

}  // namespace mdh
