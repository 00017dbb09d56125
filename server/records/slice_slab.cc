#include "server/records/slice_slab.h"

namespace mdh {
namespace {

constexpr size_t kLargest = SliceSlab::kChunkBytes / 16;

}  // namespace

SliceSlab::~SliceSlab() { grpc_slice_unref(chunk_); }

grpc::Slice SliceSlab::Make(size_t size, const std::function<void(uint8_t*)>& write) {
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
  grpc_slice_unref(chunk_);
  chunk_ = grpc_slice_malloc(kChunkBytes);
  used_ = 0;
}

}  // namespace mdh
