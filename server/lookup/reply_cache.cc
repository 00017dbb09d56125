#include "server/lookup/reply_cache.h"

#include <utility>

#include "absl/strings/string_view.h"

namespace mdh {
namespace {

// What a table whose keys are strings is searched for.
absl::string_view KeyOf(std::string_view request) { return {request.data(), request.size()}; }

}  // namespace

void ReplyCache::KeepOnly(int64_t version) {
  if (version == version_) return;
  version_ = version;
  recent_bytes_ = 0;
  recent_.clear();
  older_.clear();
}

std::optional<Result<SerializedReply>> ReplyCache::Find(std::string_view request, int64_t version) {
  KeepOnly(version);
  if (const auto found = recent_.find(KeyOf(request)); found != recent_.end()) return found->second;
  const auto found = older_.find(KeyOf(request));
  if (found == older_.end()) return std::nullopt;
  const Result<SerializedReply> reply = found->second;
  Put(request, reply, version);
  return reply;
}

void ReplyCache::Put(std::string_view request, const Result<SerializedReply>& reply,
                     int64_t version) {
  KeepOnly(version);
  if (request.size() > max_bytes_) return;
  if (recent_bytes_ + request.size() > max_bytes_) {
    older_ = std::exchange(recent_, {});
    recent_bytes_ = 0;
  }
  if (recent_.insert_or_assign(std::string(request), reply).second) {
    recent_bytes_ += request.size();
  }
}

}  // namespace mdh
