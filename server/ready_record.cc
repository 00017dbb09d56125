#include "server/ready_record.h"

#include <optional>
#include <string>

#include "absl/hash/hash.h"
#include "mdh/v1/kernel.pb.h"
#include "server/similar_records.h"
#include "server/wire_reader.h"

namespace mdh {
namespace {

// `match` and the header of `record`, in front of a serialised record.
std::string ReplyHeader(uint64_t record_bytes) {
  v1::LookupKernelResponse only_match;
  only_match.set_match(v1::MATCH_KIND_EXACT);
  std::string header = only_match.SerializeAsString();
  char field[kMaxFieldHeader];
  const int size =
      WriteFieldHeader(v1::LookupKernelResponse::kRecordFieldNumber, record_bytes, field);
  return header.append(field, size);
}

// `bytes` behind `header`, without another copy.
grpc::Slice SerialisedReply(const v1::TuningRecord& record, size_t& header_bytes) {
  const size_t record_bytes = record.ByteSizeLong();
  const std::string header = ReplyHeader(record_bytes);
  header_bytes = header.size();
  grpc::Slice reply(header_bytes + record_bytes);
  auto* bytes = const_cast<uint8_t*>(reply.begin());
  std::copy(header.begin(), header.end(), bytes);
  record.SerializeWithCachedSizesToArray(bytes + header_bytes);
  return reply;
}

}  // namespace

ReadyRecord::ReadyRecord(const v1::TuningRecord& record) : time_ns_(record.time_ns()) {
  size_t header_bytes = 0;
  exact_reply_ = SerialisedReply(record, header_bytes);
  record_ =
      std::string_view(reinterpret_cast<const char*>(exact_reply_.begin()), exact_reply_.size())
          .substr(header_bytes);
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
