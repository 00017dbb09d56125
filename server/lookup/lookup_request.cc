#include "server/lookup/lookup_request.h"

#include "server/records/wire_reader.h"

namespace mdh {

std::optional<KeyLookup> KeyLookup::Parse(std::string_view bytes) {
  KeyLookup lookup;
  bool has_key = false;
  WireReader fields(bytes);
  while (fields.Next()) {
    switch (fields.number()) {
      case v1::LookupKernelRequest::kKeyFieldNumber: {
        // Two keys would have to be merged.
        if (!fields.is_bytes() || has_key) return std::nullopt;
        const std::optional<KernelKeyView> key = KernelKeyView::Parse(fields.bytes());
        if (!key) return std::nullopt;
        lookup.key = *key;
        has_key = true;
        break;
      }
      case v1::LookupKernelRequest::kWeakestMatchFieldNumber:
        if (!fields.is_varint()) return std::nullopt;
        lookup.weakest = static_cast<v1::MatchKind>(fields.varint());
        break;
      case v1::LookupKernelRequest::kNumericsPolicyFieldNumber:
        if (!fields.is_varint()) return std::nullopt;
        break;  // of expressions
      case v1::LookupKernelRequest::kMinCursorFieldNumber:
        if (!fields.is_bytes()) return std::nullopt;
        lookup.min_cursor = fields.bytes();
        break;
      default:
        return std::nullopt;
    }
  }
  if (fields.has_failed() || lookup.key.expression_digest.empty()) return std::nullopt;
  return lookup;
}

std::string_view MinCursorOf(std::string_view request) {
  std::string_view cursor;
  WireReader fields(request);
  while (fields.Next()) {
    const bool is_cursor =
        fields.number() == v1::LookupKernelRequest::kMinCursorFieldNumber && fields.is_bytes();
    if (is_cursor) cursor = fields.bytes();
  }
  return fields.has_failed() ? std::string_view() : cursor;
}

std::string_view WithoutMinCursor(std::string_view request) {
  const std::string_view cursor = MinCursorOf(request);
  if (cursor.empty() || !request.ends_with(cursor)) return request;
  char header[kMaxFieldHeader];
  const auto size = static_cast<size_t>(
      WriteFieldHeader(v1::LookupKernelRequest::kMinCursorFieldNumber, cursor.size(), header));
  const std::string_view before = request.substr(0, request.size() - cursor.size());
  if (cursor.data() != before.data() + before.size()) return request;
  if (!before.ends_with(std::string_view(header, size))) return request;
  return before.substr(0, before.size() - size);
}

std::optional<std::vector<std::string_view>> ParseBatch(std::string_view bytes) {
  std::vector<std::string_view> requests;
  WireReader fields(bytes);
  while (fields.Next()) {
    const bool is_request =
        fields.number() == v1::BatchLookupKernelsRequest::kRequestsFieldNumber && fields.is_bytes();
    if (is_request) requests.push_back(fields.bytes());
  }
  if (fields.has_failed()) return std::nullopt;
  return requests;
}

}  // namespace mdh
