#include "server/records/slice_slab.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace mdh {
namespace {

constexpr size_t kLargest = SliceSlab::kChunkBytes / 16;

}  // namespace

SliceSlab::~SliceSlab() { grpc_slice_unref(chunk_); }

grpc::Slice SliceSlab::Make(size_t size, absl::FunctionRef<void(uint8_t*)> write) {
  if (size > kLargest) {
    grpc::Slice own(size);
    write(const_cast<uint8_t*>(own.begin()));  // nobody else has it yet
    return own;
  }
  MakeRoomFor(size);
  // Before it is cut: of a few bytes the slice has a copy.
  write(GRPC_SLICE_START_PTR(chunk_) + used_);
  const grpc_slice part = grpc_slice_sub(chunk_, used_, used_ + size);
  used_ += size;
  return {part, grpc::Slice::STEAL_REF};
}

void SliceSlab::MakeRoomFor(size_t size) {
  if (used_ + size <= GRPC_SLICE_LENGTH(chunk_)) return;
  const bool is_first = GRPC_SLICE_LENGTH(chunk_) == 0;
  grpc_slice_unref(chunk_);
  used_ = 0;
  void* const bytes = std::aligned_alloc(kChunkBytes, kChunkBytes);
  if (bytes == nullptr) throw std::bad_alloc();
  // Few records do not fill the first one. Of the others the pages come at once, and not each when
  // it is written first. Not large ones: looking for them takes longer where memory is scattered.
  if (!is_first) madvise(bytes, kChunkBytes, MADV_POPULATE_WRITE);
  chunk_ = grpc_slice_new(bytes, kChunkBytes, std::free);
}

SliceSlab::ObjectChunk SliceSlab::ChunkFor(size_t bytes) {
  if (objects_ == nullptr || objects_->used + bytes > kObjectChunkBytes) {
    objects_ = std::make_shared_for_overwrite<Objects>();  // no zeros
  }
  return objects_;
}

}  // namespace mdh
