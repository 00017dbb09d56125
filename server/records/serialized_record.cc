#include "server/records/serialized_record.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "mdh/v1/kernel.pb.h"
#include "server/records/similar_records.h"
#include "server/records/wire_reader.h"

namespace mdh {
namespace {

// A response with an exact match but for the record, which follows.
std::string ResponseWithoutRecord() {
  v1::LookupKernelResponse response;
  response.set_match(v1::MATCH_KIND_EXACT);
  response.set_provenance(v1::KERNEL_PROVENANCE_MEASURED);
  return response.SerializeAsString();
}

bool IsProvisional(std::string_view record) {
  WireReader fields(record);
  bool is_provisional = false;
  while (fields.Next()) {
    if (fields.number() == v1::TuningRecord::kIsProvisionalFieldNumber) {
      is_provisional = fields.varint() != 0;
    }
  }
  return is_provisional;
}

}  // namespace

SerializedRecord::SerializedRecord(std::string_view record, SliceSlab* slab) {
  static const std::string* const without_record = new std::string(ResponseWithoutRecord());
  char header[kMaxFieldHeader];
  const int header_bytes =
      WriteFieldHeader(v1::LookupKernelResponse::kRecordFieldNumber, record.size(), header);
  const auto write = [&](uint8_t* to) {
    to = std::copy(without_record->begin(), without_record->end(), to);
    to = std::copy(header, header + header_bytes, to);
    std::copy(record.begin(), record.end(), to);
  };
  exact_reply_ = SerializedReply(without_record->size() + header_bytes + record.size(),
                                 IsProvisional(record), write, slab);
  const grpc::Slice& bytes = exact_reply_.batch_result();
  record_ =
      std::string_view(reinterpret_cast<const char*>(bytes.end()) - record.size(), record.size());
  WireReader fields(record_);
  while (fields.Next()) {
    if (fields.number() == v1::TuningRecord::kNameFieldNumber) name_ = fields.bytes();
    if (fields.number() == v1::TuningRecord::kKeyFieldNumber) {
      key_ = KernelKeyView::Parse(fields.bytes()).value_or(KernelKeyView());
    }
    if (fields.number() == v1::TuningRecord::kTimeNsFieldNumber) {
      time_ns_ = static_cast<int64_t>(fields.varint());
    }
  }
  const std::optional<ExpressionShape> shape = ExpressionShape::Of(key_.canonical_form);
  if (!shape) return;
  structure_ = HashOfStructure(shape->structure);
  sizes_.assign(shape->sizes.begin(), shape->sizes.end());
}

v1::TuningRecord SerializedRecord::Parse() const {
  v1::TuningRecord record;
  record.ParseFromArray(record_.data(), static_cast<int>(record_.size()));
  return record;
}

uint64_t HashOfStructure(std::string_view structure) {
  // Faster than the hash of a std::string_view, and structures are long.
  const absl::string_view text(structure.data(), structure.size());
  return absl::Hash<absl::string_view>()(text) | 1;  // 0 is none
}

}  // namespace mdh
