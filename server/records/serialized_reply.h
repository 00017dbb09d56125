// A serialised LookupKernelResponse, as LookupKernel and BatchLookupKernels send it.
#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "mdh/v1/kernel.pb.h"
#include "server/records/slice_slab.h"

namespace mdh {

// Immutable; copies share the bytes.
class SerializedReply {
 public:
  SerializedReply() = default;
  explicit SerializedReply(const v1::LookupKernelResponse& response);
  // Of so many bytes, which `write` writes, cut from `slab` if there is one. `is_provisional`: as
  // in its record.
  SerializedReply(size_t response_bytes, bool is_provisional,
                  absl::FunctionRef<void(uint8_t*)> write, SliceSlab* slab = nullptr);

  grpc::Slice response() const;
  // The same as an entry of a BatchLookupKernelsResponse.
  const grpc::Slice& batch_result() const { return batch_result_; }
  // Whether its record is: a search that goes on may find something better.
  bool is_provisional() const { return is_provisional_; }

 private:
  grpc::Slice batch_result_;
  size_t header_bytes_ = 0;  // of batch_result_, in front of the response
  bool is_provisional_ = false;
};

// What goes in front of the bytes of a field of a BatchLookupResult that has so many bytes.
grpc::Slice BatchResultHeader(int field, size_t bytes);

}  // namespace mdh
