// Memory for many slices that live long, as all records that a daemon begins with.
#pragma once

#include <grpc/slice.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mdh {

// Cuts slices from chunks: in threads other than the first one malloc asks the system for every few
// kilobytes. A chunk is given back when the last of its slices is gone. Not thread-safe; slices may
// be used and dropped by any thread.
class SliceSlab {
 public:
  static constexpr size_t kChunkBytes = size_t{2} << 20;

  SliceSlab() = default;
  ~SliceSlab();
  SliceSlab(const SliceSlab&) = delete;
  SliceSlab& operator=(const SliceSlab&) = delete;

  // A slice of so many bytes, which `write` writes. Those that would waste much of a chunk get
  // memory of their own.
  grpc::Slice Make(size_t size, const std::function<void(uint8_t*)>& write);

 private:
  // Begins another chunk if need be.
  void MakeRoomFor(size_t size);

  grpc_slice chunk_ = grpc_empty_slice();
  size_t used_ = 0;
};

}  // namespace mdh
