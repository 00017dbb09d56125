#include "server/records/serialized_record.h"

#include <algorithm>
#include <cstring>
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

// What lookups need to know of a serialised record.
struct RecordFields {
  std::string_view name;
  std::string_view key;
  int64_t time_ns = 0;
  bool is_provisional = false;
};

RecordFields FieldsIn(std::string_view record) {
  RecordFields found;
  for (WireReader fields(record); fields.Next();) {
    switch (fields.number()) {
      case v1::TuningRecord::kNameFieldNumber:
        found.name = fields.bytes();
        break;
      case v1::TuningRecord::kKeyFieldNumber:
        found.key = fields.bytes();
        break;
      case v1::TuningRecord::kTimeNsFieldNumber:
        found.time_ns = static_cast<int64_t>(fields.varint());
        break;
      case v1::TuningRecord::kIsProvisionalFieldNumber:
        found.is_provisional = fields.varint() != 0;
        break;
      default:
        break;
    }
  }
  return found;
}

}  // namespace

SerializedRecord::SerializedRecord(std::string_view record, SliceSlab* slab) {
  static const std::string* const without_record = new std::string(ResponseWithoutRecord());
  const RecordFields fields = FieldsIn(record);
  char header[kMaxFieldHeader];
  const int header_bytes =
      WriteFieldHeader(v1::LookupKernelResponse::kRecordFieldNumber, record.size(), header);
  const auto write = [&](uint8_t* to) {
    to = std::copy(without_record->begin(), without_record->end(), to);
    to = std::copy(header, header + header_bytes, to);
    std::memcpy(to, record.data(), record.size());  // as a block, which std::copy does not
  };
  exact_reply_ = SerializedReply(without_record->size() + header_bytes + record.size(),
                                 fields.is_provisional, write, slab);
  const grpc::Slice& bytes = exact_reply_.batch_result();
  record_ =
      std::string_view(reinterpret_cast<const char*>(bytes.end()) - record.size(), record.size());
  // The same bytes of the copy.
  const auto own = [&](std::string_view view) {
    return view.empty() ? view : record_.substr(view.data() - record.data(), view.size());
  };
  name_ = own(fields.name);
  key_ = KernelKeyView::Parse(own(fields.key)).value_or(KernelKeyView());
  time_ns_ = fields.time_ns;
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
