#include "server/ready_reply.h"

#include <grpc/slice.h>

#include <algorithm>

#include "server/wire_reader.h"

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

ReadyReply::ReadyReply(const v1::LookupKernelResponse& response)
    : ReadyReply(response.ByteSizeLong(),
                 [&](uint8_t* to) { response.SerializeWithCachedSizesToArray(to); }) {}

ReadyReply::ReadyReply(size_t response_bytes, const std::function<void(uint8_t*)>& write) {
  char header[2 * kMaxFieldHeader];
  header_bytes_ =
      WriteResultHeader(v1::BatchLookupResult::kResponseFieldNumber, response_bytes, header);
  batch_result_ = grpc::Slice(header_bytes_ + response_bytes);
  // Nobody else has the slice yet.
  auto* bytes = const_cast<uint8_t*>(batch_result_.begin());
  std::copy(header, header + header_bytes_, bytes);
  write(bytes + header_bytes_);
}

grpc::Slice ReadyReply::response() const {
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
