// Memory for kernels: between pages that cannot be touched and zones that show what was written
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "core/base/status.h"

namespace mdh {

// Anonymous memory of its own mapping, with an inaccessible page on both sides:
//   | no access | zone | data, 64-byte aligned | zone | no access |
// The zones are filled with a pattern; the data ends as close to the end as alignment allows, so
// that a small step past the zone behind it is a fault. Move-only.
class GuardedMemory {
 public:
  enum class Zones { kNone, kBothSides };    // without zones, data ends at the inaccessible page
  enum class Sharing { kPrivate, kShared };  // shared: children write what the parent reads

  GuardedMemory() = default;
  // `bytes` may be 0. Errors: ResourceExhausted.
  static Result<GuardedMemory> Create(int64_t bytes, Zones zones, Sharing sharing);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  // Everything that can be touched: zone, data, zone.
  absl::Span<std::byte> accessible() const { return {accessible_, accessible_size_}; }
  int64_t data_offset() const { return data_ - accessible_; }

  // From now on writes are faults.
  Status MakeReadOnly();
  // Takes that back.
  Status MakeWritable();

 private:
  Status Protect(int protection);

  std::byte* mapping_ = nullptr;
  size_t mapping_size_ = 0;
  std::byte* accessible_ = nullptr;
  size_t accessible_size_ = 0;
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

// What the zones are filled with: the byte `offset` bytes after the start of the data.
std::byte ZonePattern(int64_t offset);

// Offset from the start of the data of the first byte of a zone that lost its pattern; negative in
// the zone in front. `accessible`: a GuardedMemory's accessible bytes or a copy of them.
std::optional<int64_t> FirstDamage(absl::Span<const std::byte> accessible, int64_t data_offset,
                                   int64_t size);

}  // namespace mdh
