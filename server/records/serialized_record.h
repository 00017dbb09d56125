// A record as lookups hand it out: serialised once, never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "mdh/v1/record.pb.h"
#include "server/records/kernel_key.h"
#include "server/records/serialized_reply.h"

namespace mdh {

// Immutable. The views are of the record's own bytes; besides these it takes about 300 bytes.
class SerializedRecord {
 public:
  // Of a serialised v1::TuningRecord, which is copied, to `slab` if there is one.
  explicit SerializedRecord(std::string_view record, SliceSlab* slab = nullptr);
  SerializedRecord(const SerializedRecord&) = delete;
  SerializedRecord& operator=(const SerializedRecord&) = delete;

  // With an exact match.
  const SerializedReply& exact_reply() const { return exact_reply_; }
  std::string_view name() const { return name_; }
  const KernelKeyView& key() const { return key_; }
  int64_t time_ns() const { return time_ns_; }
  // A hash of the structure (ExpressionShape) of the expression, and its sizes; 0 and none if the
  // canonical form is none.
  uint64_t structure() const { return structure_; }
  absl::Span<const int64_t> sizes() const { return sizes_; }
  v1::TuningRecord Parse() const;

 private:
  SerializedReply exact_reply_;
  std::string_view record_;  // in exact_reply_, as the other views
  std::string_view name_;
  KernelKeyView key_;
  int64_t time_ns_ = 0;
  uint64_t structure_ = 0;
  absl::InlinedVector<int64_t, 4> sizes_;
};

using SerializedRecordPtr = std::shared_ptr<const SerializedRecord>;

// The hash that SerializedRecord::structure has for expressions of this structure.
uint64_t HashOfStructure(std::string_view structure);

}  // namespace mdh
