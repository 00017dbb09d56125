// Mappings with guard pages and zones.
#include "tuner/measure/trial/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kZone = 64;

void FillZone(std::byte* data, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; ++at) data[at] = ZonePattern(at);
}

}  // namespace

// No common value of any type, and different at neighbouring places.
std::byte ZonePattern(int64_t offset) {
  return static_cast<std::byte>(0xC3 ^ static_cast<uint8_t>(offset * 37));
}

Result<GuardedMemory> GuardedMemory::Create(int64_t bytes, Zones zones, Sharing sharing) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t zone = zones == Zones::kBothSides ? kZone : 0;
  const auto exhausted = [&] {
    return ResourceExhausted(bytes, " bytes of memory are not available");
  };
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() / 2) return exhausted();
  const int64_t accessible = RoundUp(zone + RoundUp(bytes, kAlignment) + zone, page);
  GuardedMemory memory;
  memory.mapping_size_ = static_cast<size_t>(accessible + 2 * page);
  const int flags = MAP_ANONYMOUS | (sharing == Sharing::kShared ? MAP_SHARED : MAP_PRIVATE);
  void* mapping = mmap(nullptr, memory.mapping_size_, PROT_NONE, flags, -1, 0);
  if (mapping == MAP_FAILED) return exhausted();
  memory.mapping_ = static_cast<std::byte*>(mapping);
  memory.accessible_ = memory.mapping_ + page;
  memory.accessible_size_ = static_cast<size_t>(accessible);
  if (mprotect(memory.accessible_, memory.accessible_size_, PROT_READ | PROT_WRITE) != 0) {
    return exhausted();
  }
  memory.size_ = bytes;
  memory.data_ = memory.accessible_ + accessible - zone - RoundUp(bytes, kAlignment);
  if (zones == Zones::kBothSides) {
    FillZone(memory.data_, -memory.data_offset(), 0);
    FillZone(memory.data_, bytes, accessible - memory.data_offset());
  }
  return memory;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept { *this = std::move(other); }

GuardedMemory& GuardedMemory::operator=(GuardedMemory&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_size_, other.mapping_size_);
  std::swap(accessible_, other.accessible_);
  std::swap(accessible_size_, other.accessible_size_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_size_);
}

Status GuardedMemory::MakeReadOnly() { return Protect(PROT_READ); }
Status GuardedMemory::MakeWritable() { return Protect(PROT_READ | PROT_WRITE); }

Status GuardedMemory::Protect(int protection) {
  if (mprotect(accessible_, accessible_size_, protection) == 0) return absl::OkStatus();
  return ResourceExhausted("cannot protect ", size_, " bytes of memory: ", std::strerror(errno));
}

std::optional<int64_t> FirstDamage(absl::Span<const std::byte> accessible, int64_t data_offset,
                                   int64_t size) {
  const std::byte* data = accessible.data() + data_offset;
  const auto damaged = [&](int64_t at) { return data[at] != ZonePattern(at); };
  const int64_t end = static_cast<int64_t>(accessible.size()) - data_offset;
  // The nearest damage on either side is what people look for.
  for (int64_t at = size; at < end; ++at) {
    if (damaged(at)) return at;
  }
  for (int64_t at = -1; at >= -data_offset; --at) {
    if (damaged(at)) return at;
  }
  return std::nullopt;
}

}  // namespace mdh
