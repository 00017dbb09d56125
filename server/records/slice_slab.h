// Memory for many slices that live long, as all records that a daemon begins with.
#pragma once

#include <grpc/slice.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"

namespace mdh {

// Cuts slices and objects from chunks: in threads other than the first one malloc asks the system
// for every few kilobytes. A chunk is given back when the last of what was cut from it is gone. Not
// thread-safe; slices and objects may be used and dropped by any thread.
class SliceSlab {
 public:
  static constexpr size_t kChunkBytes = size_t{2} << 20;
  static constexpr size_t kObjectChunkBytes = size_t{256} << 10;

  SliceSlab() = default;
  ~SliceSlab();
  SliceSlab(const SliceSlab&) = delete;
  SliceSlab& operator=(const SliceSlab&) = delete;

  // A slice of so many bytes, which `write` writes. Those that would waste much of a chunk get
  // memory of their own.
  grpc::Slice Make(size_t size, absl::FunctionRef<void(uint8_t*)> write);

  template <typename T, typename... Arguments>
  std::shared_ptr<T> MakeShared(Arguments&&... arguments) {
    static_assert(alignof(T) <= kAlignment && sizeof(T) + kControlBytes <= kObjectChunkBytes);
    return std::allocate_shared<T>(Allocator<T>{ChunkFor(sizeof(T) + kControlBytes)},
                                   std::forward<Arguments>(arguments)...);
  }

 private:
  static constexpr size_t kAlignment = alignof(std::max_align_t);
  // What a shared_ptr adds to its object, at most.
  static constexpr size_t kControlBytes = 128;
  struct Objects {
    alignas(kAlignment) std::array<std::byte, kObjectChunkBytes> bytes;
    size_t used = 0;
  };
  using ObjectChunk = std::shared_ptr<Objects>;
  // Cuts one object from its chunk, in which there is room for it.
  template <typename T>
  struct Allocator {
    using value_type = T;
    explicit Allocator(ObjectChunk of) : chunk(std::move(of)) {}
    template <typename Other>
    Allocator(const Allocator<Other>& other)
        : chunk(other.chunk) {}  // NOLINT: as the standard says
    T* allocate(size_t count) {
      void* const place = chunk->bytes.data() + chunk->used;
      chunk->used += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
      return static_cast<T*>(place);
    }
    void deallocate(T*, size_t) {}
    template <typename Other>
    bool operator==(const Allocator<Other>& other) const {
      return chunk == other.chunk;
    }
    ObjectChunk chunk;
  };

  // Begins another chunk if need be.
  void MakeRoomFor(size_t size);
  ObjectChunk ChunkFor(size_t bytes);

  grpc_slice chunk_ = grpc_empty_slice();
  size_t used_ = 0;
  ObjectChunk objects_;
};

}  // namespace mdh
