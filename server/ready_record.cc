#include "server/ready_record.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/hash/hash.h"
#include "mdh/v1/kernel.pb.h"
#include "server/similar_records.h"
#include "server/wire_reader.h"

namespace mdh {
namespace {

// What is in front of a serialised record of so many bytes in a response with an exact match.
std::string ResponseHeader(size_t record_bytes) {
  v1::LookupKernelResponse without_record;
  without_record.set_match(v1::MATCH_KIND_EXACT);
  without_record.set_provenance(v1::KERNEL_PROVENANCE_MEASURED);
  char field[kMaxFieldHeader];
  const int size =
      WriteFieldHeader(v1::LookupKernelResponse::kRecordFieldNumber, record_bytes, field);
  return without_record.SerializeAsString().append(field, size);
}

}  // namespace

ReadyRecord::ReadyRecord(const v1::TuningRecord& record) : time_ns_(record.time_ns()) {
  const size_t record_bytes = record.ByteSizeLong();
  const std::string header = ResponseHeader(record_bytes);
  exact_reply_ = ReadyReply(header.size() + record_bytes, [&](uint8_t* to) {
    to = std::copy(header.begin(), header.end(), to);
    record.SerializeWithCachedSizesToArray(to);
  });
  const grpc::Slice& bytes = exact_reply_.batch_result();
  record_ =
      std::string_view(reinterpret_cast<const char*>(bytes.end()) - record_bytes, record_bytes);
  WireReader fields(record_);
  while (fields.Next()) {
    if (fields.number() == v1::TuningRecord::kNameFieldNumber) name_ = fields.bytes();
    if (fields.number() == v1::TuningRecord::kKeyFieldNumber) {
      key_ = KernelKeyView::Parse(fields.bytes()).value_or(KernelKeyView());
      break;  // fields are serialised in the order of their numbers
    }
  }
  const std::optional<ExpressionShape> shape = ExpressionShape::Of(record.key().canonical_form());
  if (!shape) return;
  structure_ = HashOfStructure(shape->structure);
  sizes_.assign(shape->sizes.begin(), shape->sizes.end());
}

v1::TuningRecord ReadyRecord::Parse() const {
  v1::TuningRecord record;
  record.ParseFromArray(record_.data(), static_cast<int>(record_.size()));
  return record;
}

uint64_t HashOfStructure(std::string_view structure) {
  return absl::Hash<std::string_view>()(structure) | 1;  // 0 is none
}

}  // namespace mdh
