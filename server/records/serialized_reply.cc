#include "server/records/serialized_reply.h"

#include <grpc/slice.h>

#include <algorithm>

#include "server/records/wire_reader.h"

namespace mdh {
namespace {

// Writes the header of an entry of `results` and of its one field; gives its size.
int WriteResultHeader(int field, size_t bytes, char* to) {
  char inner[kMaxFieldHeader];
  const int inner_size = WriteFieldHeader(field, bytes, inner);
  const int size =
      WriteFieldHeader(v1::BatchLookupKernelsResponse::kResultsFieldNumber, inner_size + bytes, to);
  std::copy(inner, inner + inner_size, to + size);
  return size + inner_size;
}

}  // namespace

SerializedReply::SerializedReply(const v1::LookupKernelResponse& response)
    : SerializedReply(response.ByteSizeLong(), response.record().is_provisional(),
                      [&](uint8_t* to) { response.SerializeWithCachedSizesToArray(to); }) {}

SerializedReply::SerializedReply(size_t response_bytes, bool is_provisional,
                                 absl::FunctionRef<void(uint8_t*)> write, SliceSlab* slab)
    : is_provisional_(is_provisional) {
  char header[2 * kMaxFieldHeader];
  header_bytes_ =
      WriteResultHeader(v1::BatchLookupResult::kResponseFieldNumber, response_bytes, header);
  const size_t size = header_bytes_ + response_bytes;
  const auto write_all = [&](uint8_t* to) { write(std::copy(header, header + header_bytes_, to)); };
  if (slab != nullptr) {
    batch_result_ = slab->Make(size, write_all);
    return;
  }
  batch_result_ = grpc::Slice(size);
  write_all(const_cast<uint8_t*>(batch_result_.begin()));  // nobody else has the slice yet
}

grpc::Slice SerializedReply::response() const {
  const grpc_slice whole = batch_result_.c_slice();
  const grpc_slice response = grpc_slice_sub(whole, header_bytes_, batch_result_.size());
  grpc_slice_unref(whole);
  return {response, grpc::Slice::STEAL_REF};
}

grpc::Slice BatchResultHeader(int field, size_t bytes) {
  char header[2 * kMaxFieldHeader];
  return {header, static_cast<size_t>(WriteResultHeader(field, bytes, header))};
}

}  // namespace mdh
