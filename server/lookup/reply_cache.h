// Answers to requests that take long to understand, by the bytes of the request: clients send the
// same ones again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "server/records/serialized_reply.h"

namespace mdh {

// Not thread-safe. Keeps at most twice `max_bytes` of requests: what was not asked for since the
// cache was half as full before is forgotten.
class ReplyCache {
 public:
  explicit ReplyCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // `version`: of what answers are made from; those that were made from another one are none.
  std::optional<Result<SerializedReply>> Find(std::string_view request, int64_t version);
  void Put(std::string_view request, const Result<SerializedReply>& reply, int64_t version);

 private:
  using Replies = absl::flat_hash_map<std::string, Result<SerializedReply>>;
  // Forgets all if they are of another version.
  void KeepOnly(int64_t version);

  const size_t max_bytes_;
  int64_t version_ = 0;
  size_t recent_bytes_ = 0;  // of the requests in recent_
  Replies recent_;
  Replies older_;
};

}  // namespace mdh
